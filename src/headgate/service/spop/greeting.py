"""Greeting: what HAProxy says first, and whether one can go on by it."""

from __future__ import annotations

from headgate.service.spop.frames import (
    BAD_SIZE,
    NO_CAPABILITIES,
    NO_SIZE,
    NO_VERSION,
    OTHER_VERSION,
    Flaw,
    Terms,
)

# So long frames may be at the least.
SMALLEST = 256


def agreed(told: Terms) -> int:
    """How long frames may be; raises `Flaw` if a greeting has not all that belongs to one."""
    versions, size = told.get("supported-versions"), told.get("max-frame-size")
    if not isinstance(versions, str):
        raise Flaw(NO_VERSION, "a greeting names no version")
    # Who speaks a version speaks those before it that begin with the same number.
    if not any(version.strip().partition(".")[0] == "2" for version in versions.split(",")):
        raise Flaw(OTHER_VERSION, "this is an agent of version 2.0")
    if not isinstance(size, int) or isinstance(size, bool):
        raise Flaw(NO_SIZE, "a greeting has no max-frame-size")
    if size < SMALLEST:
        raise Flaw(BAD_SIZE, f"frames have {SMALLEST} bytes at the least, and not {size}")
    if not isinstance(told.get("capabilities"), str):
        raise Flaw(NO_CAPABILITIES, "a greeting names no capabilities")
    return size
