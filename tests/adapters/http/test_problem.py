"""A refusal is said to programs and to people, and nobody is told to come back for nothing."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from math import ceil, inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.http.problem import KINDS, Refusal, status

IANA = "https://iana.org/assignments/http-problem-types#"
QUOTA = Refusal(
    429,
    "quota",
    ("burst",),
    4.2,
    'Policy "burst" allows 100 requests per 60 s. Retry in 5 s.',
    "urn:uuid:0193",
)


def said(refusal: Refusal, accept: str = "", **luck: float) -> tuple[dict[str, str], str]:
    """Headers, each of which is there once, and the body, both as text."""
    code, fields, body = refusal.answer(accept, **luck)
    headers = {name.decode("ascii"): text.decode("ascii") for name, text in fields}

    assert code == refusal.status
    assert len(headers) == len(fields)
    assert headers["content-length"] == str(len(body))
    assert headers["cache-control"] == "no-store"
    return headers, body.decode("utf-8")


def test_a_quota_that_is_exceeded_is_told_in_full() -> None:
    headers, body = said(QUOTA)

    assert headers == {
        "content-type": "application/problem+json",
        "content-length": "258",
        "cache-control": "no-store",
        "retry-after": "5",
    }
    assert json.loads(body) == {
        "type": IANA + "quota-exceeded",
        "title": "Quota Exceeded",
        "status": 429,
        "detail": 'Policy "burst" allows 100 requests per 60 s. Retry in 5 s.',
        "instance": "urn:uuid:0193",
        "violated-policies": ["burst"],
        "retry_after": 4.2,
    }


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("quota", {"type": IANA + "quota-exceeded", "title": "Quota Exceeded", "status": 429}),
        (
            "abnormal",
            {
                "type": IANA + "abnormal-usage-detected",
                "title": "Abnormal Usage Detected",
                "status": 429,
            },
        ),
        (
            "capacity",
            {
                "type": IANA + "temporary-reduced-capacity",
                "title": "Temporary Reduced Capacity",
                "status": 503,
            },
        ),
        (
            "unavailable",
            {
                "type": "urn:headgate:problem:limiter-unavailable",
                "title": "Limiter Unavailable",
                "status": 503,
            },
        ),
        ("denied", {"type": "urn:headgate:problem:denied", "title": "Denied", "status": 403}),
    ],
)
def test_each_kind_has_a_type_a_title_and_a_status(kind: str, members: dict[str, Any]) -> None:
    assert json.loads(said(Refusal(status(kind), kind))[1]) == members


@pytest.mark.parametrize(
    ("kind", "retry_after", "unit", "code"),
    [
        ("quota", 5.0, "content-bytes", 429),
        ("quota", inf, "content-bytes", 413),
        ("quota", inf, "requests", 429),
        ("capacity", inf, "content-bytes", 503),
    ],
)
def test_only_a_body_that_never_fits_is_too_large(
    kind: str, retry_after: float, unit: str, code: int
) -> None:
    assert status(kind, retry_after, unit) == code


@pytest.mark.parametrize(
    ("kind", "retry_after", "header", "members"),
    [
        ("quota", 4.2, "5", {"retry_after": 4.2}),
        ("quota", 5.0, "5", {"retry_after": 5.0}),
        ("quota", 7, "7", {"retry_after": 7.0}),
        ("quota", 0.000001, "1", {"retry_after": 0.000001}),
        ("quota", inf, None, {"permanent": True}),
        ("capacity", 0.0, "1", {}),
        ("capacity", inf, None, {}),
        ("unavailable", 1.5, "2", {"retry_after": 1.5}),
        ("abnormal", 3600.0, "3600", {"retry_after": 3600.0}),
        ("denied", 0.0, None, {}),
        ("denied", inf, None, {}),
        ("denied", 60.0, "60", {"retry_after": 60.0}),
        ("denied", 0.5, "1", {"retry_after": 0.5}),
    ],
)
def test_a_wait_is_rounded_up_in_the_header_and_exact_in_the_body(
    kind: str, retry_after: float, header: str | None, members: dict[str, Any]
) -> None:
    headers, body = said(Refusal(status(kind), kind, retry_after=retry_after))
    usual = {"type", "title", "status"}

    assert headers.get("retry-after") == header
    assert {word: value for word, value in json.loads(body).items() if word not in usual} == members


@pytest.mark.parametrize(("luck", "wait"), [(0.0, 10.0), (0.5, 11.0), (1.0, 12.0)])
def test_with_jitter_nobody_is_sent_back_earlier(luck: float, wait: float) -> None:
    refusal = Refusal(503, "capacity", retry_after=10.0)
    headers, body = said(refusal, jitter=0.2, luck=luck)

    assert (headers["retry-after"], json.loads(body)["retry_after"]) == (str(ceil(wait)), wait)


JSON, TEXT, HTML = (
    "application/problem+json",
    "text/plain; charset=utf-8",
    "text/html; charset=utf-8",
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", JSON),
        ("  ", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        ("application/json", JSON),
        ("Application/Problem+JSON", JSON),
        ("text/html, application/json", JSON),
        ("text/html;q=0.9, application/json", JSON),
        ("image/png, */*;q=0.1", JSON),
        ("text/html, application/json;q=0.5", HTML),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", HTML),
        ("text/html, */*", HTML),
        ("text/html", HTML),
        ("text/plain", TEXT),
        ("text/*", TEXT),
        ("text/plain, */*;q=0.1", TEXT),
        ("image/png", TEXT),
        ("application/json;q=0", TEXT),
        ("*/*;q=0", TEXT),
        ("text/html;q=0, */*;q=0.1", JSON),
        ("text/html ; q=1, application/json;q=2", HTML),
        ("application/json;q=nan", TEXT),
        ("application/json;charset=utf-8;q=0.3", JSON),
        (",;/;q=,", TEXT),
        ("text/html," * 1000, JSON),
    ],
)
def test_the_form_is_the_one_that_is_liked_best(accept: str, form: str) -> None:
    assert said(QUOTA, accept)[0]["content-type"] == form


def test_people_read_a_sentence() -> None:
    assert said(QUOTA, "text/plain")[1] == (
        'Quota Exceeded. Policy "burst" allows 100 requests per 60 s. Retry in 5 s.\n'
    )
    assert said(Refusal(503, "capacity", retry_after=0.3), "text/plain")[1] == (
        "Temporary Reduced Capacity. Try again in 1 s.\n"
    )
    assert said(Refusal(403, "denied"), "text/plain")[1] == "Denied.\n"
    assert said(Refusal(429, "quota", retry_after=inf), "text/plain")[1] == "Quota Exceeded.\n"


def test_browsers_get_a_page() -> None:
    assert said(Refusal(429, "quota", detail="<b>&"), "text/html")[1] == (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Quota Exceeded.</title>'
        "<h1>Quota Exceeded.</h1><p>&lt;b&gt;&amp;</p></html>\n"
    )


def test_a_kind_that_is_none_is_named() -> None:
    known = (
        "a refusal is one of quota, abnormal, funds, capacity, unavailable, denied, not 'quotas'"
    )
    for ask in (lambda: status("quotas"), lambda: Refusal(429, "quotas").answer()):
        with pytest.raises(ValueError) as refusal:
            ask()
        assert str(refusal.value) == known


@given(
    st.builds(
        Refusal,
        st.integers(400, 599),
        st.sampled_from(sorted(KINDS)),
        st.lists(st.text()).map(tuple),
        st.floats(0.0, 1e300) | st.just(inf),
        st.text(),
        st.text(),
    )
)
def test_whatever_is_in_it_the_body_is_json_and_says_so(refusal: Refusal) -> None:
    headers, body = said(refusal, "application/json")
    members = json.loads(body)

    assert members.get("detail", "") == refusal.detail
    assert members.get("instance", "") == refusal.instance
    assert tuple(members.get("violated-policies", ())) == refusal.policies
    assert members.get("retry_after", 0.0) == (
        refusal.retry_after if refusal.retry_after < inf else 0.0
    )
    assert int(headers.get("retry-after", 10**301)) >= members.get("retry_after", 0.0)


@given(st.text(), st.text())
def test_no_accept_header_and_no_detail_breaks_a_page(accept: str, detail: str) -> None:
    found: list[str] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, _: found.append(tag)  # type: ignore[method-assign]
    reader.feed(said(Refusal(429, "quota", detail=detail), "text/html")[1])
    said(QUOTA, accept)

    assert found == ["html", "meta", "title", "h1", "p"]
