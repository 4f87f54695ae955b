"""Whatever is said as rules, it is good rules or a `RulesError`, and never anything else."""

from __future__ import annotations

import contextlib
import copy
import pickle
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.errors import RulesError
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.review.lint import warnings
from tests.rules.model.forms import Path, as_json
from tests.rules.model.mutations import TABLES, nodes
from tests.rules.model.rich import RICH

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["5/s", "unlimited", "client.ip", "wait 2s", "/a/**", "${HOME}", "{user}"]),
)
KEYS = st.one_of(st.sampled_from([str(path[-1]) for path, _ in nodes(RICH)]), st.text(max_size=8))
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=5),
    ),
    max_leaves=25,
)
# Making one example takes 20 ms and more, and `make soak` has hundreds of them.
shorter = settings(max_examples=settings().max_examples * 2 // 5)
WAYS = [path for path, _ in nodes(RICH)]


def attempt(make: Any) -> None:
    """Do it; only rules that are wrong may stop it. What is good can be kept and looked at."""
    with contextlib.suppress(RulesError):
        rules = make()
        assert pickle.loads(pickle.dumps(rules)) == rules
        assert repr(rules)
        assert warnings(rules) is not None


@shorter
@given(DATA)
def test_anything_as_all_of_the_rules(data: Any) -> None:
    attempt(lambda: Rules(data))


@shorter
@given(st.dictionaries(st.sampled_from([one for one in RICH if one != "rules"]), DATA))
def test_anything_beside_the_rules(data: dict[str, Any]) -> None:
    attempt(lambda: Rules((), **data))


@shorter
@given(st.dictionaries(st.sampled_from([*Rule.__dataclass_fields__]), DATA))
def test_anything_as_the_fields_of_a_rule(data: dict[str, Any]) -> None:
    attempt(lambda: Rules([{"name": "a", "limit": "5/s", **data}]))


@shorter
@given(st.sampled_from(WAYS), DATA)
def test_anything_in_any_place_of_a_good_file(way: Path, data: Any) -> None:
    plain = copy.deepcopy(RICH)
    holder: Any = plain
    for step in way[:-1]:
        holder = holder[step]
    holder[way[-1]] = data
    rules = plain.pop("rules")
    plain.pop("version")

    attempt(lambda: Rules(rules, **plain))


@shorter
@given(st.sampled_from(TABLES), st.dictionaries(KEYS, DATA, max_size=4))
def test_anything_as_the_fields_of_any_table(cls: Any, data: dict[str, Any]) -> None:
    known = {name: one for name, one in data.items() if name in cls.__dataclass_fields__}
    needed = [one.name for one in cls.__dataclass_fields__.values() if one.name not in known]

    with contextlib.suppress(RulesError):
        # No table has more than three fields that must be there, and they come first.
        assert repr(cls(**known, **dict.fromkeys(needed[:3])))


@shorter
@given(st.one_of(st.text(), st.binary()), st.sampled_from(["yaml", "json", "toml"]))
@example("rules: &a [*a]", "yaml")
@example("[" * 100_000, "json")
def test_any_text(text: str | bytes, form: str) -> None:
    attempt(lambda: Rules.read(text, form, environment={}))


@shorter
@given(st.text("{}[]:,-\"'#&*!|> \n\tversionrulam1e/s", max_size=200))
def test_any_text_of_the_characters_that_mean_something(text: str) -> None:
    attempt(lambda: Rules.read(f"version: 1\n{text}", environment={}))


@shorter
@given(st.data())
def test_a_good_file_with_a_piece_cut_out_or_put_in(data: st.DataObject) -> None:
    text = as_json(RICH).text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    piece = data.draw(st.text('{}[]:,"0 ', max_size=5))

    attempt(lambda: Rules.read(text[:start] + piece + text[end:], "json", environment={}))
