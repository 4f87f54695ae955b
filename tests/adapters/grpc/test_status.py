"""What a refusal is in the words of google.rpc, as its own library reads them."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import QuotaFailure, RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.grpc.status import abort, number, text, varint
from headgate.rules.live.entry import Refusal
from headgate.rules.model.rule import Rule

RULE = Rule("api", limit="10/s")


def status(refusal: Refusal) -> Status:
    """What stands in the details."""
    found = Status()
    found.ParseFromString(dict(abort(refusal, 0.5).metadata)["grpc-status-details-bin"])
    return found


def packed(*messages: Any) -> list[Packed]:
    found = []
    for message in messages:
        found.append(Packed())
        found[-1].Pack(message)
    return found


@pytest.mark.parametrize(
    ("refusal", "code", "pushback", "names"),
    [
        (Refusal("limit", RULE, 0, 1.5), 8, "1500", ["RetryInfo", "QuotaFailure"]),
        (Refusal("limit", RULE, 0, inf), 8, "-1", ["QuotaFailure"]),
        (Refusal("limit", RULE, 0, 0.0000001), 8, "1", ["RetryInfo", "QuotaFailure"]),
        (Refusal("capacity", RULE, 0, 2.0), 14, "2100", ["RetryInfo"]),
        (Refusal("capacity", RULE, 0, inf), 14, "-1", []),
        (Refusal("unavailable", RULE, 0, 1.0), 14, "1000", ["RetryInfo"]),
        (Refusal("denied", RULE), 7, "-1", []),
        (Refusal("key", RULE), 7, "-1", []),
    ],
)
def test_every_kind_of_no_has_a_code_and_says_when_to_come_back(
    refusal: Refusal, code: int, pushback: str, names: list[str]
) -> None:
    found = abort(refusal, 0.5)

    assert found.code == code
    assert found.metadata[0] == ("grpc-retry-pushback-ms", pushback)
    assert len(found.metadata) == (2 if names else 1)
    if names:
        types = [f"type.googleapis.com/google.rpc.{name}" for name in names]
        assert [one.type_url for one in status(refusal).details] == types
        assert (status(refusal).code, status(refusal).message) == (code, found.message)


def test_the_details_are_those_that_the_library_would_write() -> None:
    refusal = Refusal("limit", RULE, 0, 61.25, "api:2")
    message = 'Policy "api:2" is exceeded. Retry in 62 s.'
    violation = QuotaFailure.Violation(subject="policy:api:2", description=message)

    expected = packed(
        RetryInfo(retry_delay=Duration(seconds=61, nanos=250_000_000)),
        QuotaFailure(violations=[violation]),
    )

    written = dict(abort(refusal).metadata)["grpc-status-details-bin"]
    assert written == Status(code=8, message=message, details=expected).SerializeToString()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("denied", "Denied."),
        ("key", "The request does not say who it is from."),
        ("unavailable", "Nobody knows whether this is within the limit."),
        ("capacity", '"api" has no room for it now.'),
    ],
)
def test_a_no_is_a_sentence(kind: str, message: str) -> None:
    assert abort(Refusal(kind, RULE, 0, 1.0)).message == message


def test_those_who_found_no_room_come_back_one_by_one() -> None:
    waits = {abort(Refusal("capacity", RULE, 0, 100.0)).metadata[0][1] for _ in range(50)}

    assert len(waits) > 1
    assert all(100_000 <= int(wait) <= 110_000 for wait in waits)


@given(
    st.integers(0, 315_576_000_000), st.integers(0, 999_999_999), st.text(max_size=300),
    st.binary(max_size=300),
)  # fmt: skip
def test_fields_are_written_as_protocol_buffers_are(
    seconds: int, nanos: int, name: str, content: bytes
) -> None:
    duration = Duration(seconds=seconds, nanos=nanos).SerializeToString()
    anything = Packed(type_url=name, value=content).SerializeToString()

    assert number(1, seconds) + number(2, nanos) == duration
    # What is empty may be left out or not; a reader cannot tell.
    read = Packed()
    read.ParseFromString(text(1, name.encode()) + text(2, content))
    assert read.SerializeToString() == anything


@pytest.mark.parametrize(
    ("value", "written"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (16384, "808001")]
)
def test_numbers_take_seven_bits_to_a_byte(value: int, written: str) -> None:
    assert varint(value).hex() == written
