"""`headgate completion`: what a shell is told, so that it completes commands and their options."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
NAME = "headgate"
ASKED = "_HEADGATE_COMPLETE"


@click.command(short_help="Print what completes commands in a shell.")
@click.argument("shell", type=click.Choice([*SHELLS]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that has SHELL complete the commands of headgate, their options and files.

    For bash, put eval "$(headgate completion bash)" into ~/.bashrc; for zsh the same into ~/.zshrc;
    for fish, headgate completion fish > ~/.config/fish/completions/headgate.fish.

    Ends with 0.
    """
    click.echo(SHELLS[shell](context.find_root().command, {}, NAME, ASKED).source())
