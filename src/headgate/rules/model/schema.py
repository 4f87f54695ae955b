"""The JSON Schema of a rule file, for editors: what may stand where, and what it means.

It is made of the same tables as the reading of rules. What a schema cannot say, such as that a plan
names rules there are, only `headgate check` tells.
"""

from __future__ import annotations

from typing import Any

from headgate.rules.model.kinds import Schema
from headgate.rules.model.rules import Rules
from headgate.rules.model.table import closed

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAME = "urn:headgate:rules:1"
# Where a word may stand, a variable of the environment may stand for it.
VARIABLE = "[$][{].+[}]"


def schema() -> Schema:
    """The schema of a whole file, draft 2020-12; every table stands once, under `$defs`."""
    tables: dict[str, Any] = {}
    whole = hoist(closed(Rules), tables)
    title = str(whole["$ref"]).rpartition("/")[2]
    top = tables.pop(title)
    # In code the version may be left out, in a file it may not.
    return {
        "$schema": DIALECT,
        "$id": NAME,
        **top,
        "title": "Headgate rules",
        "description": "A rule file of Headgate, in the first version of its form.",
        "required": ["version"],
        "$defs": dict(sorted(tables.items())),
    }


def hoist(found: Any, tables: dict[str, Any]) -> Any:
    """The schema with a reference in place of each table; the tables go where they are kept."""
    if isinstance(found, list):
        return [hoist(one, tables) for one in found]
    if not isinstance(found, dict):
        return found
    plain = {word: hoist(one, tables) for word, one in found.items()}
    if "pattern" in plain:
        return {**plain, "pattern": f"{plain['pattern']}|{VARIABLE}"}
    if "enum" in plain and isinstance(plain["enum"][0], str):
        words = {"enum": plain.pop("enum")}
        return {**plain, "anyOf": [words, {"type": "string", "pattern": VARIABLE}]}
    if "title" not in plain or not isinstance(plain["title"], str):
        return plain
    tables[plain["title"]] = plain
    return {"$ref": f"#/$defs/{plain['title']}"}
