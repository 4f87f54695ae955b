"""Reports: what came of a replay, as plain data that is the same for people, programs and pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from headgate.replay.fit import Note
from headgate.replay.player import Player
from headgate.replay.score import Count, Score, Timeline, stopped
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules

# So many keys are drawn over time.
DRAWN = 25


class Side:
    """A rule file that is played: what it says, what of it cannot be replayed, and its player."""

    def __init__(self, file: str, rules: Rules, player: Player, notes: tuple[Note, ...]) -> None:
        self.file = file
        self.rules = rules
        self.player = player
        self.notes = notes


def told(side: Side, top: int) -> dict[str, Any]:
    """What one rule file did, with so many of those whom it refused most."""
    player = side.player
    total = player.total
    rung = total.timeline.rung
    by_name = {rule.name: rule for rule in player.rules.rules}
    return {
        "file": side.file,
        "version": side.rules.digest,
        **counts(total),
        "unruled": player.free,
        "unseen": player.unseen,
        "width": total.timeline.width,
        "timeline": drawn(total.timeline),
        "notes": [note._asdict() for note in side.notes],
        "rules": [
            ruled(by_name[name], score, rung, top) for name, score in player.scores.items()
        ],
    }  # fmt: skip


def counts(score: Score) -> dict[str, Any]:
    """How many requests there were, and what became of them."""
    share = score.refused / score.asked if score.asked else 0.0
    return {
        "asked": score.asked, "allowed": score.allowed,
        "delayed": score.delayed, "refused": score.refused, "shadowed": score.shadowed,
        "share": round(share, 6),
    }  # fmt: skip


def ruled(rule: Rule, score: Score, rung: int, top: int) -> dict[str, Any]:
    """What one rule did."""
    line = score.timeline
    if rung > line.rung:
        line.fold(rung)
    hit = {key: one for key, one in score.keys.items() if stopped(one)}
    first = sorted(hit, key=lambda key: (-stopped(hit[key]), key))
    return {
        "rule": rule.name,
        "mode": rule.mode,
        "rollout": rule.rollout,
        "key": ", ".join(rule.key),
        "terms": terms(rule),
        **counts(score),
        "waited": score.waited / 1e6,
        "kinds": dict(score.kinds),
        "keys": len(score.keys) + score.forgotten,
        "keys_refused": len(hit),
        "exact": score.forgotten == 0,
        "peak": peak(line),
        "top": [{"key": key, **keyed(hit[key])} for key in first[:top]],
        "timeline": drawn(line),
        "heat": heat(score, first),
    }


def keyed(count: Count) -> dict[str, int]:
    """How one key fared."""
    return {
        "asked": count.asked, "refused": count.refused, "shadowed": count.shadowed,
        "delayed": count.delayed,
    }  # fmt: skip


def terms(rule: Rule) -> list[str]:
    """What a rule allows, in the words of a rule file."""
    found = []
    for one in rule.limit:
        by = one.by or rule.by
        found.append(f"{one.rate}" if by == "token_bucket" else f"{one.rate} by {by}")
    found += [f"concurrent {rule.concurrent}"] if rule.concurrent else []
    return found + (["deny"] if rule.deny is not None else [])


def drawn(line: Timeline) -> list[list[int]]:
    """Seconds since 1970 at which each part begins, and how many asked, were refused, and so on."""
    return [
        [at * line.width, part.asked, part.refused, part.shadowed, part.delayed]
        for at, part in sorted(line.parts.items())
    ]


def peak(line: Timeline) -> dict[str, Any] | None:
    """When most were refused, or would have been."""
    worst = max(line.parts.items(), key=lambda one: one[1].refused + one[1].shadowed, default=None)
    if worst is None or not worst[1].refused + worst[1].shadowed:
        return None
    at, part = worst
    return {"at": stamp(at * line.width), "refused": part.refused, "shadowed": part.shadowed}


def heat(score: Score, first: list[str]) -> dict[str, Any]:
    """When those were refused who were refused most, by parts of time."""
    width = score.timeline.width
    rows = []
    for key in first[:DRAWN]:
        count = score.keys[key]
        if count.when is None:
            continue
        cells: dict[int, int] = {}
        for at, refused in count.when.items():
            moment = at * count.width // width * width
            cells[moment] = cells.get(moment, 0) + refused
        rows.append({"key": key, "cells": [[at, cells[at]] for at in sorted(cells)]})
    return {"width": width, "rows": rows}


def stamp(seconds: float) -> str:
    """A moment in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
