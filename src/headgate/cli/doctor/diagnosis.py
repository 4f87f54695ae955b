"""Diagnosis: what `headgate doctor` has found, for people or in JSON."""

from __future__ import annotations

import json
import signal
from collections import Counter
from contextlib import suppress
from typing import Any

import click

from headgate.cli.page import Page
from headgate.cli.trouble import masked
from headgate.doctor.chain import probe
from headgate.doctor.echo import Echo
from headgate.doctor.examine import examine
from headgate.doctor.finding import BAD, DOUBT, GOOD, UNKNOWN, VERDICTS, Finding, worst
from headgate.rules.model.rules import Rules

STYLES = {GOOD: "green", UNKNOWN: "", DOUBT: "yellow", BAD: "bold red"}
NOUNS = {GOOD: "good", UNKNOWN: "unknown", DOUBT: "in doubt", BAD: "bad"}


def diagnose(said: dict[str, Any]) -> str:
    """Look at everything, and say what was found; the worst verdict."""
    found = [one for one in looked(said) if one.check not in said["skip"]]
    verdict = worst(tuple(found))
    if said["plain"]:
        told = {"file": said["file"], "verdict": verdict, "checks": [one.plain() for one in found]}
        click.echo(masked(json.dumps(told, indent=2)))
    else:
        show(found, said["quiet"])
    return verdict


def looked(said: dict[str, Any]) -> list[Finding]:
    """What there is to find."""
    if said["probe"]:
        return [*probe(said["probe"], said["expect"])]
    return [*examine(said["file"], said["store"])]


def show(found: list[Finding], quiet: bool) -> None:
    """What was found, the worst last, where it is seen."""
    page = Page()
    for one in sorted(found, key=lambda one: VERDICTS.index(one.verdict)):
        well = one.verdict in (GOOD, UNKNOWN)
        if well and quiet:
            continue
        where = f"{one.where} " if one.where else ""
        joint = "" if well else ":"
        if not well:
            page.line("")
        text = f"{where.strip()}{joint} {one.found}" if where else one.found
        page.line(masked(f"{one.verdict:7} {one.check}  {text}"), STYLES[one.verdict])
        if not well:
            page.line(f"        {one.why}")
            page.line(f"        {one.mend}")
            page.line(f"        {one.link}")
    counts = Counter(one.verdict for one in found)
    said = [f"{counts[verdict]} {NOUNS[verdict]}" for verdict in VERDICTS if counts[verdict]]
    page.line("")
    page.line(", ".join(said) or "nothing was looked at", "bold")
    page.end()


def echo(file: str, address: tuple[str, int]) -> None:
    """Answer who has asked, until somebody ends it."""
    rules = Rules.load(file)
    with Echo(address, rules.client) as listener:
        host, port = listener.server_address[:2]
        place = f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"
        click.echo(f"echo on {place}; ask it through your proxies: "
                   f"headgate doctor {file} --probe URL", err=True)  # fmt: skip
        # Where a shell put it in the background, Ctrl-C would be nothing to it.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            listener.serve_forever(0.1)
