"""The documentation is true: its code runs, its links lead somewhere, what it includes is fresh."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import headgate
import plots
import tables
from headgate.rules import Rules
from pictures import figures

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# A file that a page has its reader write: its name ends the paragraph before.
FILE = re.compile(r"as a file `([\w.]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!`)\[[^]]*]\((?P<target>[^)\s]+)\)")
REFERENCE = re.compile(r"`(tests/[\w/.]+)::(\w+)`")
OWNED = [*range(1, 201)]
KINDS = {"python", "console", "text", "mermaid", "sh", "toml", "lua", "yaml"}
LARGEST = 150_000
SERVER = "redis://localhost"


class Block(NamedTuple):
    """A block of code, and where it begins."""

    kind: str
    text: str
    line: int


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_is_true(page: Path, request: pytest.FixtureRequest) -> None:
    space: dict[str, object] = {"__name__": page.stem}
    text = page.read_text()
    if SERVER in text:
        # Examples name the server everybody has; here it is a real one, started for the tests.
        url = request.getfixturevalue("valkey").url
        # It is the server that decides, however late the machine is.
        text = text.replace(f'store="{SERVER}"', f'store="{url}?budget=20"').replace(SERVER, url)

    for block in blocks(text):
        if block.kind == "yaml":
            Rules.read("\n" * block.line + block.text, file=str(page))
        if block.kind == "python":
            # Blank lines in front, so that a failure names the line of the page.
            exec(compile("\n" * block.line + block.text, str(page), "exec"), space)


def test_the_app_of_the_readme_answers_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = pytest.importorskip("starlette.testclient")
    page = (ROOT / "README.md").read_text()
    files = dict(FILE.findall(page))
    assert [*files] == ["rules.yaml", "shop.py"]
    (tmp_path / "rules.yaml").write_text(files["rules.yaml"])
    monkeypatch.chdir(tmp_path)
    shop: dict[str, Any] = {"__name__": "shop"}

    exec(compile(files["shop.py"], "shop.py", "exec"), shop)

    asker = client.TestClient(shop["app"], client=("127.0.0.1", 50000))
    codes = [str(asker.post("/login").status_code) for _ in range(6)]
    assert f"\n{' '.join(codes)}\n" in page
    assert codes == ["200"] * 5 + ["429"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_says_what_it_is(page: Path) -> None:
    assert {block.kind for block in blocks(page.read_text())} <= KINDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = [target for target in links(page.read_text()) if not leads(page, target)]

    assert dead == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_every_page_can_be_reached_from_the_readme(page: Path) -> None:
    assert page.resolve() in reached(ROOT / "README.md")


def test_the_included_tables_are_fresh() -> None:
    assert tables.stale() == []


def test_every_table_is_shown() -> None:
    shown = {match[1] for page in PAGES for match in tables.ASKED.finditer(page.read_text())}

    assert shown == {path.name for path in tables.CASES.iterdir()}


@pytest.mark.parametrize("name", plots.SHOWN)
def test_the_pictures_show_what_the_library_does(name: str) -> None:
    assert plots.digest(plots.SHOWN[name]()) == plots.drawn_from(name)


def test_the_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in plots.PICTURES.iterdir()}

    assert {name for name, size in sizes.items() if size > LARGEST} == set()


def test_a_picture_is_drawn_the_same_twice() -> None:
    pytest.importorskip("matplotlib")

    assert plots.picture("boundary") == plots.picture("boundary")


def test_the_boundary_attack_shows_the_bounds_that_the_pages_state() -> None:
    worst = {name: counts[0] for name, counts in figures.attacks().items()}

    assert worst['FixedWindow("20/s")'] == 40
    assert worst['SlidingLog("20/s")'] == 20


@pytest.mark.parametrize("name", headgate.__all__)
def test_the_reference_names_everything_public(name: str) -> None:
    assert f"`{name}" in (ROOT / "docs" / "reference" / "api.md").read_text()


def test_the_requirements_name_tests_that_exist() -> None:
    named = set(REFERENCE.findall((ROOT / "docs" / "requirements.md").read_text()))

    assert sorted(name for name in named if not exists(*name)) == []


def test_every_requirement_has_a_row() -> None:
    rows = re.findall(
        r"^\| R(\d+) \|", (ROOT / "docs" / "requirements.md").read_text(), re.MULTILINE
    )

    assert [int(number) for number in rows] == OWNED


def test_blocks_are_found_with_their_lines() -> None:
    page = "words\n\n```python\nassert True\n```\n\n```text\n1\n```\n"

    assert blocks(page) == [Block("python", "assert True\n", 3), Block("text", "1\n", 7)]


def test_a_dead_link_is_found() -> None:
    page = "[here](README.md), [there](https://example.org), [nowhere](gone.md#far)"

    assert [target for target in links(page) if not leads(ROOT / "x.md", target)] == ["gone.md#far"]


def exists(path: str, test: str) -> bool:
    """Whether a file has a test of that name."""
    file = ROOT / path
    return file.exists() and f"def {test}(" in file.read_text()


def blocks(page: str) -> list[Block]:
    """The blocks of code of a page, in order."""
    return [
        Block(match["kind"], match["text"], page.count("\n", 0, match.start()) + 1)
        for match in FENCE.finditer(page)
    ]


def links(page: str) -> list[str]:
    """Where a page points to, outside its blocks of code."""
    return [match["target"] for match in LINK.finditer(FENCE.sub("", page))]


def leads(page: Path, target: str) -> bool:
    """Whether a link has something at its end: a file, and a heading in it if it names one."""
    if target.startswith(("https://", "http://")):
        return True
    name, _, heading = target.partition("#")
    path = page.parent / name if name else page
    if not path.exists():
        return False
    return not heading or heading in headings(path.read_text())


def headings(page: str) -> set[str]:
    """The headings of a page, spelled as links spell them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@cache
def reached(start: Path) -> set[Path]:
    """Every page that can be reached from `start`; a link to a folder reaches all in it."""
    found: set[Path] = set()
    waiting = [start]
    while waiting:
        page = waiting.pop().resolve()
        if page in found or page.suffix != ".md" or not page.exists():
            continue
        found.add(page)
        for target in links(page.read_text()):
            path = page.parent / target.partition("#")[0]
            waiting += sorted(path.glob("*.md")) if path.is_dir() else [path]
    return found
