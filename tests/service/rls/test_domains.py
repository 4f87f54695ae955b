"""Which limit of a file a descriptor meets, and under which key it counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.service.rls.domains import load, parse
from headgate.service.rls.tree import composed, fits, grow, trace
from tests.service.rls.calls import Desk

FILE = """
domain: edge
descriptors:
  - key: path
    value: /login
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: path
    value: /a*
    rate_limit: {unit: minute, requests_per_unit: 6}
  - key: path
    value: /api/*/do
    rate_limit: {unit: minute, requests_per_unit: 7}
  - key: path
    value: "*z*"
    share_threshold: yes
    rate_limit: {unit: minute, requests_per_unit: 8}
  - key: path
    rate_limit: {unit: HOUR, requests_per_unit: 9}
  - key: path
    value: /free
  - key: status
    value: 404
    rate_limit: {unit: Day, requests_per_unit: 10}
  - key: flag
    value: true
    rate_limit: {unit: week, requests_per_unit: 11}
  - key: user
    descriptors:
      - key: path
        rate_limit: {unit: month, requests_per_unit: 12}
      - key: path
        value: /up*
        share_threshold: true
        descriptors:
          - key: method
            rate_limit: {unit: year, requests_per_unit: 13}
    rate_limit:
  - key: any
    rate_limit: {unlimited: true}
"""
EDGE = Desk(FILE).limit

MET = {
    "path=/login": "edge.path_/login",
    "path=/about": "edge.path_/a*",
    "path=/a": "edge.path_/a*",
    "path=/api/1/do": "edge.path_/a*",
    "path=/bazaar": "edge.path_*z*",
    "path=/other": "edge.path",
    "path=": "edge.path",
    "path=/free": "",
    "status=404": "edge.status_404",
    "status=200": "",
    "flag=true": "edge.flag_true",
    "user=u": "",
    "user=u path=/x": "edge.user.path",
    "user=u path=/up": "",
    "user=u path=/up/1 method=PUT": "edge.user.path_/up*.method",
    "user=u path=/x method=PUT": "",
    "path=/login user=u": "",
    "nobody=1": "",
    "any=1": "edge.any",
}


def entries(said: str) -> list[tuple[str, str]]:
    """The entries of `a=1 b=2`."""
    return [tuple(word.split("=", 1)) for word in said.split()]  # type: ignore[misc]


@pytest.mark.parametrize(("said", "title"), MET.items())
def test_the_most_specific_entry_of_the_right_depth_counts(said: str, title: str) -> None:
    leaf, _ = EDGE.find("edge", entries(said))

    assert ("" if leaf is None else leaf.title) == title


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("path=/about", "path=/axe", False),
        ("path=/bazaar", "path=/pizza", True),
        ("path=/b", "path=/c", False),
        ("user=u path=/up/1 method=GET", "user=u path=/up/2 method=GET", True),
        ("user=u path=/up/1 method=GET", "user=v path=/up/1 method=GET", False),
        ("user=u path=/up/1 method=GET", "user=u path=/up/1 method=PUT", False),
    ],
)
def test_values_count_apart_unless_they_share_a_threshold(one: str, other: str, same: bool) -> None:
    keys = {EDGE.find("edge", entries(said))[1] for said in (one, other)}

    assert (len(keys) == 1) is same


def test_a_domain_that_no_file_has_has_no_limits() -> None:
    assert EDGE.find("other", [("path", "/login")]) == (None, "")


PIECE = st.text("ab/", max_size=3)


@given(st.lists(PIECE, min_size=2, max_size=4), st.text("ab/", max_size=10))
def test_a_star_is_any_text(parts: list[str], value: str) -> None:
    pattern = ".*".join(re.escape(part) for part in parts)

    assert fits(parts, value) == bool(re.fullmatch(pattern, value, re.DOTALL))


PARTS = st.lists(st.text("a:1", max_size=3), min_size=3, max_size=5)


@given(st.text("ab", min_size=1), PARTS, PARTS)
def test_no_two_descriptors_have_one_key(domain: str, one: list[str], other: list[str]) -> None:
    keys = {composed([domain, *one]), composed([domain, *other])}

    assert len(keys) == (1 if one == other else 2)


def test_a_key_of_any_bytes_is_a_key() -> None:
    odd = b"\xff\x00".decode("utf-8", "surrogateescape")

    assert composed(["edge", "path", odd]).startswith("#")


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "edge.yaml"
    file.write_text(FILE)

    (found,) = load([str(file)])

    assert found == parse(FILE)[0]
    assert [one.limits[0].rate.count for one in grow([found])["edge"].leaves() if one.limits] == [
        *(5, 10, 11, 6, 7, 8, 9, 13, 12)
    ]


def test_the_configuration_is_told_in_lines() -> None:
    said = """
domain: edge
descriptors:
  - key: path
    value: /login
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 5}
    descriptors:
      - key: user
        quota_mode: true
        rate_limit: {limit: [20/s burst 40, {rate: 100 per 90s, by: sliding_window}]}
  - key: any
    rate_limit: {unlimited: true}
"""
    lines = Desk(said).limit.rlconfig().splitlines()

    assert lines == [
        "edge.path_/login: unit=MINUTE requests_per_unit=5, shadow_mode: true, quota_mode: false",
        'edge.path_/login.user: limit=TokenBucket("20/s burst 40"), SlidingWindow("100 per 90s"), '
        "shadow_mode: false, quota_mode: true",
        "edge.any: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false",
    ]


def test_a_node_without_entries_has_no_limit() -> None:
    node = grow([parse(FILE)[0]])["edge"]

    assert trace(node, "edge", []) == (None, "edge")
