"""`headgate schema`: the JSON Schema of rule files, for editors."""

from __future__ import annotations

import json

import click


@click.command(short_help="Print the JSON Schema of rule files, for editors.")
def schema() -> None:
    """Print the JSON Schema of rule files, which editors check and complete by.

    Ends with 0.
    """
    from headgate.rules.model.schema import schema as rules  # noqa: PLC0415 - only who asks needs it

    click.echo(json.dumps(rules(), indent=2))
