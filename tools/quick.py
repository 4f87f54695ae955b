"""Check what changed, within a minute: lint, format, types, and the tests nearest to the changes.

    python tools/quick.py              what differs from the merge base with main, committed or not
    python tools/quick.py --base HEAD  what is not committed

Tests run on the plain sources, with few examples, nearest first:

1. test modules that changed, and the test module that mirrors a changed one (a/b.py: a/test_b.py);
2. test modules that import what changed;
3. the tests of the folder that mirrors the package of what changed, or that holds a test helper;
4. test modules that import a module that imports what changed;
5. the tests of the folders that mirror the packages of those modules.

At most `MOST_MODULES` of them are chosen, and no test begins after `TESTS_UNTIL` seconds. What was
left out is listed; `make test` runs everything.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from soak import stop

ROOT = Path(__file__).parents[1]
MOST_MODULES = 30
# Seconds since the start: until when tests begin, how long one of them may take, and when all of it
# is stopped.
TESTS_UNTIL, LONGEST_TEST, LIMIT = 40, 15, 57
IMPORT = re.compile(
    r"^\s*(?:from|import)\s+([\w.]+)(?:\s+import\s+(\([^)]*\)|[^\n#]*))?", re.MULTILINE
)
# Test folders that are not called as the package that they mirror.
FOLDERS = {
    "breakers": ("breaker",),
    "budgets": ("budget",),
    "bulkheads": ("bulkhead",),
    "guards": ("guard", "retry"),
    "pacers": ("pacer",),
    "async_limiter": ("limiter",),
    "system": ("adaptive",),
    "window": ("breaker",),
}
# The front door imports everything, and everybody imports it.
FRONT = "headgate"


class Choice(NamedTuple):
    """The test modules to run, nearest first, and the changes that no test stands for."""

    modules: list[str]
    beyond: list[str]
    uncovered: list[str]


def main(arguments: Sequence[str]) -> int:
    """Check, and say what was left out; 1 if anything is wrong."""
    begin = time.time()
    parser = argparse.ArgumentParser(description="Check what changed, within a minute.")
    parser.add_argument("--base", default="", help="compare with this commit")
    asked = parser.parse_args(arguments)
    changed = changed_files(asked.base or merge_base())
    results: dict[str, int | None] = {name: start(command).wait() for name, command in LINT}
    choice = choose(changed, read_sources())
    print(f"{len(changed)} files changed; {len(choice.modules)} test modules", flush=True)
    types = start(TYPES)
    results["tests"] = run_tests(choice.modules, begin)
    results["types"] = finish(types, begin + LIMIT)
    print("\n".join(summarize(choice, results, time.time() - begin)))
    return int(any(code != 0 for code in results.values()))


PYTHON = (sys.executable, "-m")
LINT = (
    ("lint", (*PYTHON, "ruff", "check", "-q", ".")),
    ("format", (*PYTHON, "ruff", "format", "-q", "--check", ".")),
)
# What pytest answers where all of the chosen tests are marked as soak or realtime.
NO_TESTS = 5
TYPES = (*PYTHON, "mypy", "--strict", "src/headgate", "tools")


def merge_base() -> str:
    """Where this branch left main, or the last commit where there is no such branch."""
    for branch in ("main", "origin/main"):
        if found := git("merge-base", "HEAD", branch):
            return found[0]
    return "HEAD"


def changed_files(base: str) -> list[str]:
    """What differs from `base`, committed or not, and what git does not know yet."""
    told = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return sorted({*told})


def git(*words: str) -> list[str]:
    """The lines that git answers; none if it fails."""
    command = ["git", *words]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return found.stdout.splitlines() if found.returncode == 0 else []


def read_sources() -> dict[str, str]:
    """The text of every Python file of the package, the tools and the tests, by its path."""
    folders = ("src", "tools", "tests")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def choose(changed: Iterable[str], sources: Mapping[str, str]) -> Choice:
    """The tests for what changed, nearest first."""
    imports = {path: {*imported(text)} for path, text in sources.items()}
    tests = sorted(path for path in sources if is_test(path))
    ranks: dict[str, int] = {}
    uncovered = []
    for path in changed:
        near = [*nearby(path, tests, imports)]
        if not near:
            uncovered.append(path)
        for rank, test in near:
            ranks[test] = min(rank, ranks.get(test, rank))
    chosen = sorted(ranks, key=lambda test: (ranks[test], test))
    return Choice(chosen[:MOST_MODULES], chosen[MOST_MODULES:], uncovered)


def nearby(
    path: str, tests: Sequence[str], imports: Mapping[str, set[str]]
) -> Iterator[tuple[int, str]]:
    """The test modules for one changed file, each with how near it is."""
    if is_test(path):
        yield from ((1, test) for test in tests if test == path)
        return
    folders = mirrors(path)
    mirrored = {f"{folder}/test_{Path(path).stem}.py" for folder in folders}
    yield from ((1, test) for test in tests if test in mirrored)
    name = module_name(path)
    if name:
        yield from ((2, test) for test in tests if name in imports[test])
    yield from ((3, test) for test in tests if folder_of(test) in folders)
    importers = [other for other, names in imports.items() if name and name in names]
    between = {module_name(other) for other in importers} - {FRONT}
    yield from ((4, test) for test in tests if imports[test] & between)
    beside = {folder for other in importers if other not in tests for folder in mirrors(other)}
    yield from ((5, test) for test in tests if folder_of(test) in beside)


def mirrors(path: str) -> list[str]:
    """The folders of the tests for a file: its own, or those that mirror its package."""
    words = path.split("/")
    if words[0] in ("examples", "benchmarks"):
        return [f"tests/{words[0]}"]
    if words[0] == "tests":
        return ["/".join(words[:-1])] if len(words) > 2 else []
    if words[:2] != ["src", "headgate"] or len(words) < 3:
        return []
    inner = [*words[2:-1], Path(words[-1]).stem]
    first, *rest = inner
    return [
        "/".join(["tests", folder, *rest[:end]])
        for folder in FOLDERS.get(first, (first,))
        for end in range(len(rest), -1, -1)
    ]


def imported(text: str) -> Iterator[str]:
    """The modules that a text imports, and what it takes from them, which may be modules too."""
    for source, names in IMPORT.findall(text):
        yield source
        for one in names.strip("()").replace("\n", ",").split(","):
            if one.strip():
                yield f"{source}.{one.split()[0]}"


def module_name(path: str) -> str:
    """The name by which a file is imported, or the empty string if it is none of Python's."""
    if not path.endswith((".py", ".pxd")):
        return ""
    name = path.rpartition(".")[0].removeprefix("src/").removeprefix("tools/")
    return name.removesuffix("/__init__").replace("/", ".")


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def is_test(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_")


def run_tests(modules: Sequence[str], begin: float) -> int | None:
    """The exit code of pytest, or None if it had to be stopped."""
    if not modules:
        return 0
    arguments = (
        "-q", "-n", "2", "-p", "tests.time_box", "--time-box-until", str(begin + TESTS_UNTIL),
        "--timeout", str(LONGEST_TEST),
    )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": "src", "HEADGATE_BRIEF": "1"}
    environment.pop("HEADGATE_FORM", None)
    running = start((*PYTHON, "pytest", *arguments, *modules), environment)
    code = finish(running, begin + LIMIT)
    return 0 if code == NO_TESTS else code


def start(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A program of ours at work, in a session of its own, so that `stop` ends all of it."""
    return subprocess.Popen(  # noqa: S603
        command, cwd=ROOT, env=environment, start_new_session=True
    )


def finish(running: subprocess.Popen[bytes], until: float) -> int | None:
    """The exit code, or None if the program was still at work by then and was stopped."""
    try:
        return running.wait(max(0.0, until - time.time()))
    except subprocess.TimeoutExpired:
        stop(running, 1.0)
        return None


def summarize(choice: Choice, results: Mapping[str, int | None], seconds: float) -> Iterator[str]:
    """What was left out, and what failed."""
    yield f"--- {seconds:.0f} s, {len(choice.modules)} test modules"
    if choice.beyond:
        folders = Counter(folder_of(module) for module in choice.beyond)
        told = ", ".join(f"{folder} {count}" for folder, count in folders.items())
        yield f"left out, farther off than {MOST_MODULES} others: modules of {told}"
    if choice.uncovered:
        yield f"no test was chosen for: {', '.join(choice.uncovered)}"
    for name, code in results.items():
        if code is None:
            yield f"{name}: stopped after {LIMIT} s"
    wrong = [name for name, code in results.items() if code != 0]
    yield f"failed: {', '.join(wrong)}" if wrong else "nothing failed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
