"""JSON is read as RFC 8259 has it, and strictly where it leaves a choice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headgate.errors import RulesError
from headgate.rules.documents.document import read

GOOD: list[tuple[str, Any]] = [
    ("null", None),
    (" true ", True),
    ("false\n", False),
    ("0", 0),
    ("-0", 0),
    ("-0.0", -0.0),
    ("-12", -12),
    ("1.5", 1.5),
    ("1e3", 1000.0),
    ("1E+3", 1000.0),
    ("-1.5e-3", -0.0015),
    ("9" * 100, int("9" * 100)),
    ('""', ""),
    ('"\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9"', '" \\ / \b \f \n \r \t é'),
    ('"\\ud83d\\ude42"', "\U0001f642"),
    ('"\\u0000"', "\0"),
    ('"// # é\U0001f642\u2028\x7f"', "// # é\U0001f642\u2028\x7f"),
    ("[]", []),
    ("[ ]", []),
    ("{}", {}),
    ("{\r\n\t}", {}),
    ('[1,[2,{"a":[]}]]', [1, [2, {"a": []}]]),
    ('{"a" : {"a" : 1} , "" : 2}', {"a": {"a": 1}, "": 2}),
    ('{"no": "no", "010": "22:30"}', {"no": "no", "010": "22:30"}),
]


@pytest.mark.parametrize(("text", "data"), GOOD)
def test_a_text_means_its_data(text: str, data: Any) -> None:
    found = read(text, "json").data

    assert repr(found) == repr(data) == repr(json.loads(text))


ENDLESS = "is not a finite number; write one that is"
NUMBER = "is no number; write one such as 10, -0.5 or 1e6"
COMMENT = "JSON has no comments; take it out, or write YAML or TOML"
BAD = [
    ('{"a": 1,\n "a": 1}', '2:2: "a" stands twice, first in line 1; keep one of them'),
    (
        '[{"a": 1}, {"b": 1, "\\u0062": 1}]',
        '1:21: "b" stands twice, first in line 1; keep one of them',
    ),
    ("NaN", f"1:1: NaN {ENDLESS}"),
    ("[1, Infinity]", f"1:5: Infinity {ENDLESS}"),
    ("[-Infinity]", f"1:2: -Infinity {ENDLESS}"),
    ("[1e999]", f"1:2: 1e999 {ENDLESS}"),
    ("[-1e999]", f"1:2: -1e999 {ENDLESS}"),
    ("9" * 101, "1:1: a number of 101 characters; at most 100 are read"),
    (f"[{'9' * 9999}]", "1:2: a number of 9,999 characters; at most 100 are read"),
    ("[010]", '1:2: 010 has a leading zero; write 10, or "010" for a text'),
    ("[-00.5]", '1:2: -00.5 has a leading zero; write -0.5, or "-00.5" for a text'),
    ("[+1]", f'1:2: "+1" {NUMBER}'),
    ("[.5]", f'1:2: ".5" {NUMBER}'),
    ("[5.]", f'1:2: "5." {NUMBER}'),
    ("[-]", f'1:2: "-" {NUMBER}'),
    ("[0x1F]", f'1:2: "0x1F" {NUMBER}'),
    ("[1_000]", f'1:2: "1_000" {NUMBER}'),
    ("[\u0661]", '1:2: "\u0661" is no value; put a text in double quotes'),
    ("[True]", '1:2: "True" is no value; write true'),
    ("[NULL]", '1:2: "NULL" is no value; write null'),
    ("[None]", '1:2: "None" is no value; put a text in double quotes'),
    ("[1,\r2,\r\n\rno]", '4:1: "no" is no value; put a text in double quotes'),
    ("[no]", '1:2: "no" is no value; put a text in double quotes'),
    ("['a']", "1:2: a text stands in double quotes"),
    (
        "{'a': 1}",
        "1:2: expected a key in double quotes but found \"'a'\", inside what begins in line 1",
    ),
    (
        "{\n  a: 1}",
        '2:3: expected a key in double quotes but found "a", inside what begins in line 1',
    ),
    ("{1: 1}", '1:2: expected a key in double quotes but found "1", inside what begins in line 1'),
    ("{", "1:2: expected a key in double quotes but found the end, inside what begins in line 1"),
    ('{"a"', '1:5: expected ":" after the key but found the end, inside what begins in line 1'),
    ('{"a", 1}', '1:5: expected ":" after the key but found ",", inside what begins in line 1'),
    ('{"a": }', '1:7: expected a value but found "}"'),
    ("[", "1:2: expected a value but found the end"),
    ("[,]", '1:2: expected a value but found ","'),
    ("[1,,2]", '1:4: expected a value but found ","'),
    ("[1, 2,]", '1:6: a comma stands before "]"; take it out'),
    ('{"a": 1,\n}', '1:8: a comma stands before "}"; take it out'),
    ("[1\n2]", '2:1: expected "," or "]" but found "2", inside what begins in line 1'),
    ('[1 "a b"]', '1:4: expected "," or "]" but found """, inside what begins in line 1'),
    ('{"a": 1]', '1:8: expected "," or "}" but found "]", inside what begins in line 1'),
    ("[1", '1:3: expected "," or "]" but found the end, inside what begins in line 1'),
    ("[1]]", '1:4: "]" follows the end; a file holds one value'),
    ("{} {}", '1:4: "{" follows the end; a file holds one value'),
    ("1 2", '1:3: "2" follows the end; a file holds one value'),
    ("// no\n1", f"1:1: {COMMENT}"),
    ("[1, /* no */ 2]", f"1:5: {COMMENT}"),
    ("[1] # no", f"1:5: {COMMENT}"),
    ('{"a": "b', "1:7: this text is never closed; end it with a double quote"),
    ('{"a": "b\\', "1:7: this text is never closed; end it with a double quote"),
    (
        '["a\nb"]',
        "1:4: a text cannot hold this character as it is; write an escape such as \\n",
    ),
    (
        '["\t"]',
        "1:3: a text cannot hold this character as it is; write an escape such as \\n",
    ),
    ('["\\x41"]', "1:3: this is no escape; write \\\\ for a backslash"),
    ('["\\u12"]', "1:3: this escape lacks digits; write four, as in \\u00e9"),
    ('["a\\ud83d"]', "1:2: an escape stands for no whole character; write the character itself"),
    ('{"\\ude42": 1}', "1:2: an escape stands for no whole character; write the character itself"),
    ("\xa0[]", '1:1: expected a value but found "\\xa0"'),
    ("\x07", '1:1: "\\x07" is no value; put a text in double quotes'),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_bad_text_is_explained(text: str, said: str) -> None:
    with pytest.raises(RulesError) as caught:
        read(text, "json", "rules.json")

    assert str(caught.value) == f"rules.json:{said}"
