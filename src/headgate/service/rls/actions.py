"""Actions: what an Envoy is told of a bucket, on the wire."""

from __future__ import annotations

from typing import Any, NamedTuple

from headgate.service.rls.messages import DENY_ALL
from headgate.service.rls.scribe import LARGEST, MILLION
from headgate.service.rls.share import LATE, Grant
from headgate.service.rls.tree import Entry

# A token that comes as rarely is none.
NEVER = 365 * 86_400 * MILLION


class Name(NamedTuple):
    """Which bucket."""

    domain: str
    entries: tuple[Entry, ...]


def address(told: Any, name: Name) -> Any:
    """A new action about a bucket."""
    action = told.bucket_action.add()
    for key, value in name.entries:
        action.bucket_id.bucket.add(key=key, value=value)
    return action


def assign(told: Any, name: Name, grant: Grant) -> None:
    """Tell how much may go in until the round is over.

    Envoy fills a new bucket as far as the one before it was filled. So it is told in one breath
    that nothing may go in, which is no bucket, and then of a bucket, which begins full.
    """
    action = address(told, name).quota_assignment_action
    action.assignment_time_to_live.FromMicroseconds(grant.span + LATE)
    action.rate_limit_strategy.blanket_rule = DENY_ALL
    if not grant.tokens:
        return
    action = address(told, name).quota_assignment_action
    action.assignment_time_to_live.FromMicroseconds(grant.span + LATE)
    bucket = action.rate_limit_strategy.token_bucket
    bucket.max_tokens = min(grant.tokens, LARGEST)
    bucket.tokens_per_fill.value = min(max(1, grant.ahead), LARGEST)
    bucket.fill_interval.FromMicroseconds(grant.span if grant.ahead else NEVER)
