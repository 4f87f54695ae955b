"""What is written here is what Envoy's own classes read, and the other way round."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.service.rate_limit_quota.v3 import rlqs_pb2
from envoy.service.ratelimit.v3 import rls_pb2
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from headgate.service.rls.messages import (
    OK,
    OVER_LIMIT,
    Heard,
    Quotas,
    Reports,
    Request,
    Response,
)
from headgate.service.rls.scribe import LARGEST, answer, limited, status

TEXT = st.text(max_size=8)
WIDE = st.integers(0, LARGEST)
LONG = st.integers(0, (1 << 64) - 1).map(str)
SPAN = st.integers(0, 10**9).map(lambda seconds: f"{seconds}s")
UNIT = st.sampled_from(["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"])
CODE = st.sampled_from(["UNKNOWN", "OK", "OVER_LIMIT"])
HEADER = st.fixed_dictionaries({}, optional={"key": TEXT, "value": TEXT})
REQUEST = st.fixed_dictionaries(
    {},
    optional={
        "domain": TEXT,
        "hitsAddend": WIDE,
        "descriptors": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "entries": st.lists(
                        st.fixed_dictionaries({}, optional={"key": TEXT, "value": TEXT}), max_size=3
                    ),
                    "limit": st.fixed_dictionaries({"requestsPerUnit": WIDE, "unit": UNIT}),
                    "hitsAddend": LONG,
                },
            ),
            max_size=3,
        ),
    },
)
STATUS = st.fixed_dictionaries(
    {},
    optional={
        "code": CODE,
        "currentLimit": st.fixed_dictionaries(
            {}, optional={"requestsPerUnit": WIDE, "unit": UNIT, "name": TEXT}
        ),
        "limitRemaining": WIDE,
        "durationUntilReset": SPAN,
        "quota": st.fixed_dictionaries({}, optional={"requests": WIDE, "id": TEXT}),
    },
)
RESPONSE = st.fixed_dictionaries(
    {},
    optional={
        "overallCode": CODE,
        "statuses": st.lists(STATUS, max_size=3),
        "responseHeadersToAdd": st.lists(HEADER, max_size=2),
        "requestHeadersToAdd": st.lists(HEADER, max_size=2),
        "rawBody": st.sampled_from(["", "AAEC"]),
        "dynamicMetadata": st.dictionaries(TEXT, st.one_of(st.booleans(), TEXT), max_size=3),
    },
)
BUCKET = st.fixed_dictionaries({"bucket": st.dictionaries(TEXT, TEXT, max_size=3)})
REPORTS = st.fixed_dictionaries(
    {},
    optional={
        "domain": TEXT,
        "bucketQuotaUsages": st.lists(
            st.fixed_dictionaries(
                {"bucketId": BUCKET},
                optional={
                    "timeElapsed": SPAN,
                    "numRequestsAllowed": LONG,
                    "numRequestsDenied": LONG,
                },
            ),
            max_size=3,
        ),
    },
)
STRATEGY = st.one_of(
    st.fixed_dictionaries({"blanketRule": st.sampled_from(["ALLOW_ALL", "DENY_ALL"])}),
    st.fixed_dictionaries(
        {"requestsPerTimeUnit": st.fixed_dictionaries({"requestsPerTimeUnit": LONG})}
    ),
    st.fixed_dictionaries(
        {
            "tokenBucket": st.fixed_dictionaries(
                {"maxTokens": WIDE, "tokensPerFill": WIDE, "fillInterval": SPAN}
            )
        }
    ),
)
QUOTAS = st.fixed_dictionaries(
    {
        "bucketAction": st.lists(
            st.one_of(
                st.fixed_dictionaries(
                    {
                        "bucketId": BUCKET,
                        "quotaAssignmentAction": st.fixed_dictionaries(
                            {"assignmentTimeToLive": SPAN, "rateLimitStrategy": STRATEGY}
                        ),
                    }
                ),
                st.fixed_dictionaries({"bucketId": BUCKET, "abandonAction": st.just({})}),
            ),
            max_size=3,
        )
    }
)


def same(told: Any, ours: Any, theirs: Any) -> None:
    """Whether both mean the same by the same words, and read what the other writes."""
    mine = json_format.ParseDict(told, ours())
    other = json_format.ParseDict(told, theirs())
    back = ours.FromString(other.SerializeToString())
    assert theirs.FromString(mine.SerializeToString()) == other
    if "bucket" not in str(told):
        assert back == mine


@given(REQUEST)
def test_a_request_is_read_as_envoy_writes_it(told: Any) -> None:
    same(told, Request, rls_pb2.RateLimitRequest)


@given(RESPONSE)
def test_a_response_is_written_as_envoy_reads_it(told: Any) -> None:
    same(told, Response, rls_pb2.RateLimitResponse)


@given(REPORTS)
def test_reports_of_usage_are_read_as_envoy_writes_them(told: Any) -> None:
    theirs = json_format.ParseDict(told, rlqs_pb2.RateLimitQuotaUsageReports())
    ours = Reports.FromString(theirs.SerializeToString())
    ours.DiscardUnknownFields()

    found = [
        (
            {pair.key: pair.value for pair in one.bucket_id.bucket},
            one.time_elapsed.seconds,
            one.num_requests_allowed,
            one.num_requests_denied,
        )
        for one in ours.bucket_quota_usages
    ]

    assert found == [
        (
            dict(one.bucket_id.bucket),
            one.time_elapsed.seconds,
            one.num_requests_allowed,
            one.num_requests_denied,
        )
        for one in theirs.bucket_quota_usages
    ]
    assert rlqs_pb2.RateLimitQuotaUsageReports.FromString(ours.SerializeToString()) == theirs


@given(QUOTAS)
def test_assignments_are_written_as_envoy_reads_them(told: Any) -> None:
    theirs = json_format.ParseDict(told, rlqs_pb2.RateLimitQuotaResponse())
    ours = Quotas.FromString(theirs.SerializeToString())
    ours.DiscardUnknownFields()

    assert rlqs_pb2.RateLimitQuotaResponse.FromString(ours.SerializeToString()) == theirs


@given(
    st.sampled_from([OK, OVER_LIMIT]),
    st.one_of(st.none(), st.tuples(WIDE, st.integers(0, 7), TEXT)),
    st.integers(-5, 1 << 40),
    st.integers(0, 1 << 50),
)
def test_the_scribe_writes_what_protobuf_would(
    code: int, limit: Any, remaining: int, wait: int
) -> None:
    said = b"" if limit is None else limited(*limit)
    expected = Response(overall_code=code)
    one = expected.statuses.add(code=code, limit_remaining=min(LARGEST, max(0, remaining)))
    if limit is not None:
        one.current_limit.SetInParent()
        one.current_limit.requests_per_unit, one.current_limit.unit = limit[:2]
        one.current_limit.name = limit[2]
        one.duration_until_reset.FromSeconds(-(-wait // 1_000_000))

    written = answer(code, status(code, said, remaining, wait))

    assert written == expected.SerializeToString()


def test_hits_that_are_there_and_zero_are_told_from_none() -> None:
    heard = Heard.FromString(bytes.fromhex("0a0164120a0a060a016b1201761a001803"))

    (one,) = heard.descriptors
    assert (heard.domain, heard.hits_addend, one.hits_addend.value) == (b"d", 3, 0)
    assert one.HasField("hits_addend")


def test_a_refusal_is_these_bytes() -> None:
    written = answer(OVER_LIMIT, status(OVER_LIMIT, limited(5, 2, ""), 0, 7_000_000))

    assert written.hex() == "0802120c080212040805100222020807"


@pytest.mark.parametrize("more", ["2a03616263", "a20100", "0a047a7a7a7a"])
def test_what_is_newer_is_passed_over(more: str) -> None:
    raw = bytes.fromhex("0a0164120a0a060a016b1201761a001803" + more)

    assert Heard.FromString(raw).hits_addend == 3


def test_a_week_is_a_unit() -> None:
    raw = Response(statuses=[{"current_limit": {"unit": 7}}]).SerializeToString()

    theirs = rls_pb2.RateLimitResponse.FromString(raw)

    week = rls_pb2.RateLimitResponse.RateLimit.WEEK
    assert theirs.statuses[0].current_limit.unit == week
