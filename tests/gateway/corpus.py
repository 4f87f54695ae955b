"""Everything that has led one server or another astray, as a table of cases."""

from __future__ import annotations

from tests.gateway import chunks, fields, framing, manners, targets

CASES = (*framing.CASES, *chunks.CASES, *fields.CASES, *targets.CASES, *manners.CASES)
