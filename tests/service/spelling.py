"""Limits in the words of a rule file, for services that are told them in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.rules.model.allowance import LIMITS
from headgate.rules.model.kinds import Report

if TYPE_CHECKING:
    from headgate import Limit


def spelled(limits: tuple[Limit, ...]) -> Any:
    """What stands after `limit:` where these are meant; in JSON, and so in YAML."""
    report = Report()
    found = LIMITS.read(limits, (), report)
    assert not report.wrong
    return LIMITS.spell(found)
