"""The site is whole: every page has a place in it, and what is made for it says what it should.

The site itself is built by `make docs`, where a warning is a failure.
"""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

pytest.importorskip("click")

from click import Context

import plots
from headgate.cli.program import program
from pictures import dark, workloads
from press import built, contents, diagrams, docstrings, files, llms
from reports import reliability, targets, words

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TYPED = re.compile(r"^\$ headgate (?!.*<TAB>)(?P<line>[^|>#\n]*)", re.MULTILINE)


def test_every_page_has_a_place_in_the_contents() -> None:
    placed = {"docs/README.md"}
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for asked in contents.ASKED.finditer(page.read_text()):
            said = asked["entries"].split()
            found = contents.entries(page.read_text(), name.removesuffix(".md"), said)
            placed |= {f"{one.rpartition('<')[2].strip('/>')}.md" for one in found}

    assert {page.relative_to(ROOT).as_posix() for page in PAGES} - placed == set()
    assert [name for name in placed if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_is_typed_on_a_page_is_a_command(page: Path) -> None:
    whole = page.read_text().replace("\\\n", " ")  # what goes on in the next line
    for typed in TYPED.finditer(whole):
        words_typed = shlex.split(typed["line"])
        command = program.get_command(Context(program), words_typed[0])
        assert command is not None, typed[0]
        command.make_parser(Context(command)).parse_args(words_typed[1:])


def test_what_is_typed_looks_on_the_site_as_it_is_typed() -> None:
    # Otherwise --strict would be shown with a dash, and copied with it.
    assert not runpy.run_path(str(DOCS / "conf.py"))["smartquotes"]


def test_contents_follow_the_links_of_a_page() -> None:
    page = "[b](write-rules.md), [away](../README.md)\n\n<!-- toctree: * -->\n"

    lines = contents.planted(page, "docs/how-to/README").splitlines()

    assert lines[2:6] == ["```{toctree}", ":hidden:", "", "/docs/how-to/write-rules"]
    assert lines[6] == "/docs/how-to/ask-from-any-language"
    assert "/docs/how-to/README" not in lines


def test_contents_may_have_a_heading() -> None:
    page = "<!-- toctree The project: Readme=../README.md -->"

    assert contents.planted(page, "docs/README").splitlines() == [
        "```{toctree}", ":hidden:", ":caption: The project", "", "Readme </README>", "```",
    ]  # fmt: skip


def test_a_link_to_a_file_leads_to_a_page_that_shows_it() -> None:
    shown: set[str] = set()
    page = "[a](../../src/headgate/flow.py#L3), [d](../decisions/), [p](bounds.md)\n\n"
    code = "```text\n[a](../../src/headgate/flow.py)\n```\n"

    told = files.told(page + code, "docs/explanation/time", shown)

    assert told == (
        '<a class="reference internal" href="../../files/src/headgate/flow.py.html">a</a>, '
        f"[d](../decisions/README.md), [p](bounds.md)\n\n{code}"
    )
    assert shown == {"src/headgate/flow.py"}


def test_a_flowchart_is_told_as_a_list() -> None:
    chart = (
        '```mermaid\nflowchart TD\n A[Is it<br>one?] -->|yes| B["memory://"]\n A -->|no| B\n```\n'
    )

    assert diagrams.planted(chart) == (
        '<ul class="tree"><li>Is it one?<ul><li><b>yes</b>: <code>memory://</code></li>'
        "<li><b>no</b>: <code>memory://</code> (as above)</li></ul></li></ul>\n"
    )


def test_a_sequence_is_drawn() -> None:
    drawn = diagrams.shown(
        "sequenceDiagram\n participant a\n participant b as B & C\n"
        " a->>b: ask\n b-->>a: tell\n b->>b: think\n"
    )

    assert "B &amp; C</text>" in drawn
    assert re.findall(r'class="(there|back|own)"', drawn) == ["there", "back", "there", "own"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pie\n", "'pie': sequenceDiagram or flowchart can be shown"),
        ("sequenceDiagram\nloop x\n", "'loop x': participant NAME, or A->>B: words"),
        ("flowchart TD\nA B\n", "'A B': A[words] -->|answer| B[words]"),
    ],
)
def test_a_diagram_that_cannot_be_shown_is_refused(text: str, message: str) -> None:
    with pytest.raises(diagrams.DiagramError) as caught:
        diagrams.shown(text)

    assert str(caught.value) == message


def test_docstrings_are_spelled_for_the_site() -> None:
    lines = ["Takes `cost` of *all*.", "", "    limiter.take(*args)", "", "Then `more`."]

    assert list(docstrings.spelled(lines)) == [
        r"Takes ``cost`` of \*all\*.", "",
        "::", "", "    limiter.take(*args)", "",
        "Then ``more``.",
    ]  # fmt: skip


def test_names_of_a_module_are_told_once() -> None:
    told = docstrings.planted("<!-- docstrings: headgate.testing -->")

    assert ".. autofunction:: most_in_any" in told
    assert ".. autoclass:: ManualClock" not in told  # it is told with headgate


def test_what_a_page_fetches_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org">x</a><script src="https://cdn.example/x.js"></script>'
        '<link rel="stylesheet" href="//fonts.example/y.css"><img src="own.svg">'
    )
    (tmp_path / "a.css").write_text('@import "https://z.example/z.css"; a{b:url(own.png)}')

    assert built.outside(tmp_path) == [
        "a.html: https://cdn.example/x.js",
        "a.html: //fonts.example/y.css",
        "a.css: https://z.example/z.css",
    ]


def test_the_list_for_programs_has_every_page() -> None:
    told = llms.index(DOCS, {"docs/how-to/limit-bytes": "How do I limit bytes?"})

    assert (
        "- [How do I limit bytes?](_sources/docs/how-to/limit-bytes.md.txt): "
        "A rate may be spelled in bytes, and the cost is the size of the message."
    ) in told.splitlines()
    assert told.count("](_sources/") == sum(page.parent != DOCS for page in PAGES)


@pytest.mark.parametrize("path", sorted(plots.PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_every_picture_has_a_dark_form(path: Path) -> None:
    assert dark.ASKED in path.read_text()


def test_a_picture_gets_its_dark_form_once() -> None:
    once = dark.dressed('<style type="text/css">*{}</style><path style="fill: #ffffff"/>')

    assert '[style*="fill: #ffffff"]{fill:#131416!important}' in once
    assert dark.dressed(once) == once


def test_no_attack_that_is_drawn_crosses_what_is_promised() -> None:
    figures = workloads.worst()

    for name in workloads.CONTENDERS:
        over = [
            (span, found, promised)
            for span, found, promised in zip(
                figures["spans"], figures[name], figures[f"{name}, promised"], strict=True
            )
            if found > promised
        ]
        assert over == [], name


def test_a_record_of_tests_becomes_a_matrix(tmp_path: Path) -> None:
    matrix = "test_every_check_is_answered_and_the_store_comes_back"
    (tmp_path / "a.xml").write_text(
        f"""<testsuites><testsuite>
        <testcase classname="tests.faults.test_matrix" name="{matrix}[full-sync-local]">
          <properties><property name="checks" value="[(1.0, 1.05), (2.0, 2.5)]"/></properties>
        </testcase>
        <testcase classname="tests.faults.test_matrix" name="{matrix}[full-async-local]">
          <failure/></testcase>
        </testsuite></testsuites>"""
    )

    told = reliability.page(reliability.read(tmp_path / "a.xml"))

    assert "| full | 1 of 2 |  |  |  |" in told
    assert "| within the budget and 10 ms | 1 |" in told
    assert "| servers and networks that misbehave | 2 | 1 | 1 | 0 |" in told


def test_a_target_that_was_missed_is_shown() -> None:
    told = targets.page(
        {"memory": {"targets": [{"promise": ">= 2 x", "value": 1.0, "median": None, "met": False}]}}
    )

    assert "| ≥ 2 x |  | 1.00 | **missed** |" in told


@pytest.mark.parametrize(
    ("value", "spelled"), [(None, ""), (0.123, "0.12"), (12.34, "12.3"), (12345.6, "12,346")]
)
def test_numbers_have_as_many_digits_as_can_be_believed(value: float | None, spelled: str) -> None:
    assert words.number(value) == spelled
