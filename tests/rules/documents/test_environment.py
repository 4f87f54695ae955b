"""Variables stand in values: they are filled in once, or all that is wrong is said at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headgate.errors import Problem, RulesError
from headgate.rules.documents.document import Document, read
from headgate.rules.documents.environment import expand

ENVIRONMENT = {
    "RATE": "10/s",
    "_h0st": "a.example",
    "EMPTY": "",
    "LOOP": "${RATE} $${",
    "SECRET": "s3",
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${RATE}", "10/s"),
        ("at most ${RATE} on ${_h0st}.", "at most 10/s on a.example."),
        ("${RATE}${RATE}", "10/s10/s"),
        ("${EMPTY}", ""),
        ("${LOOP}", "${RATE} $${"),
        ("${NONE:-5/s}", "5/s"),
        ("${NONE:-}", ""),
        ("${NONE:-a:-b $c}", "a:-b $c"),
        ("${EMPTY:-5/s}", "5/s"),
        ("${RATE:-5/s}", "10/s"),
        ("$${RATE}", "${RATE}"),
        ("$${", "${"),
        ("$${${RATE}}", "${10/s}"),
        ("$RATE $$ $ {RATE} $(RATE) }", "$RATE $$ $ {RATE} $(RATE) }"),
        ("", ""),
    ],
)
def test_a_value_is_filled_in(text: str, filled: str) -> None:
    document = Document({"a": [text, 1]}, {}, {}, "")

    assert expand(document, ENVIRONMENT).data == {"a": [filled, 1]}


UNCLOSED = (
    'a "${" is not closed; write ${NAME}, or ${NAME:-default} with no brace in the default, or $${ '
    "for a text"
)
NAME = "is no variable; a name is of A-Z, a-z, 0-9 and _, and begins with no digit"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${NONE}", "NONE is not set; set it, or write ${NONE:-default}"),
        ("${rate}", "rate is not set; set it, or write ${rate:-default}"),
        ("${", UNCLOSED),
        ("${RATE", UNCLOSED),
        ("${RATE} ${RATE", UNCLOSED),
        ("${NONE:-{id}}", UNCLOSED),
        ("${NONE:-${RATE}}", UNCLOSED),
        ("${}", f'"" {NAME}'),
        ("${:-x}", f'"" {NAME}'),
        ("${1X}", f'"1X" {NAME}'),
        ("${RATE-x}", f'"RATE-x" {NAME}'),
        ("${ RATE }", f'" RATE " {NAME}'),
        ("${RÄTE}", f'"RÄTE" {NAME}'),
        ("${RATE\n}", f'"RATE\\n" {NAME}'),
        (f"${{{'X' * 50}-}}", f'"{"X" * 40}..." {NAME}'),
    ],
)
def test_a_mark_that_cannot_be_filled_in_is_explained(text: str, said: str) -> None:
    with pytest.raises(RulesError) as caught:
        expand(Document({"a": [text]}, {("a", 0): (7, 3)}, {}, "rules.yaml"), ENVIRONMENT)

    assert str(caught.value) == f"rules.yaml:7:3: a[0]: {said}"


def test_all_that_is_wrong_is_said_at_once_with_its_place() -> None:
    text = 'a = "${NONE}"\nb = ["${RATE}", {c = "x ${1}"}]\nd = "${RATE"\n'
    document = read(text, "toml", "rules.toml")

    with pytest.raises(RulesError) as caught:
        expand(document, ENVIRONMENT)

    assert caught.value.problems == (
        Problem("NONE is not set; set it, or write ${NONE:-default}", ("a",), "rules.toml", 1, 5),
        Problem(f'"1" {NAME}', ("b", 1, "c"), "rules.toml", 2, 22),
        Problem(UNCLOSED, ("d",), "rules.toml", 3, 5),
    )


def test_no_message_tells_what_a_variable_holds() -> None:
    document = read("a: ${SECRET} ${NONE}\nb: ${SECRET", "yaml")

    with pytest.raises(RulesError) as caught:
        expand(document, ENVIRONMENT)

    assert ENVIRONMENT["SECRET"] not in str(caught.value)


def test_keys_places_and_the_document_itself_stay_as_they_are() -> None:
    document = read("${RATE}: ${RATE}\nb: [1, true, 0.5, ~, x]", "yaml", "rules.yaml")
    before = document.data.copy()

    expanded = expand(document, ENVIRONMENT)

    assert expanded.data == {"${RATE}": "10/s", "b": [1, True, 0.5, None, "x"]}
    assert expanded[1:] == document[1:]
    assert document.data == before


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text().filter(lambda text: "${" not in text),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


# Making such data takes 15 ms for each example.
@settings(max_examples=settings().max_examples * 2 // 5)
@given(PLAIN)
def test_what_has_no_mark_is_left_alone(data: Any) -> None:
    assert expand(Document(data, {}, {}, ""), {}).data == data


@given(st.text(), st.text(alphabet="${}:-AB", max_size=30))
def test_any_text_can_be_written_with_doubled_marks(held: str, text: str) -> None:
    # A "$" just before a mark doubles it.
    assume(not text.endswith("$"))
    document = Document(text.replace("${", "$${") + "${A}", {}, {}, "")

    assert expand(document, {"A": held}).data == text + held
