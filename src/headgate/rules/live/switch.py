"""Switch: whether rules are asked at all, as the environment has it."""

from __future__ import annotations

import logging
import os
from functools import cache

logger = logging.getLogger("headgate")

# The variable that switches all gatekeepers off, and its words.
SWITCH = "HEADGATE_ENABLED"
ON = ("", "1", "true", "yes", "on")
OFF = ("0", "false", "no", "off")


def switched() -> bool:
    """Whether the environment will have rules asked at all."""
    said = os.environ.get(SWITCH, "")
    word = said.strip().lower()
    if word not in (*ON, *OFF):
        raise ValueError(f"{SWITCH} is 1, true, yes or on, or 0, false, no or off, not {said!r}")
    if word in OFF:
        warn(said)
    return word in ON


@cache
def warn(said: str) -> None:
    """Have everybody know, once."""
    logger.warning("%s=%s: no rule is asked, and every request is let in", SWITCH, said)
