"""See that each extra, installed alone, brings what it promises, and that the rest is asked for.

    python tools/extras.py dist/headgate-0.1.0-*.whl            every extra, and none
    python tools/extras.py dist/headgate-0.1.0-*.whl redis cli  these

For each, an environment of its own: the wheel with that extra and nothing else, from the index that
pip knows. It takes about a quarter of a minute each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from promises import HANDED, PROMISES, TOOLS, USES, closure, extras

# Runs in the new environment: what became of each promise.
PROBE = """
import importlib, json, sys, traceback
promises = json.loads(sys.argv[1])
found = {}
for extra, lines in promises.items():
    found[extra] = "here"
    for line in lines:
        try:
            exec(line, {})
        except ImportError as error:
            found[extra] = getattr(error, "extra", "") and str(error) or traceback.format_exc()
            break
        except Exception:
            found[extra] = traceback.format_exc()
            break
print(json.dumps(found))
"""
HINT = 'the extra "{0}" is not installed; try pip install "headgate[{0}]"'


def main(arguments: list[str]) -> int:
    """Try the extras that are named, or all of them; 1 if one breaks its promise."""
    if not arguments or not arguments[0].endswith(".whl"):
        print(__doc__)
        return 2
    wheel, *names = arguments
    broken = 0
    for name in names or ["", *(one for one in extras() if one not in TOOLS)]:
        problems = tried(Path(wheel).resolve(), name)
        print(f"{name or 'without any'}: {'; '.join(problems) or 'as promised'}", flush=True)
        broken |= bool(problems)
    return int(broken)


def tried(wheel: Path, name: str) -> list[str]:
    """What is wrong with one extra, alone in an environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        asked = f"{wheel}[{name}]" if name else str(wheel)
        run(python, "-m", "pip", "--disable-pip-version-check", "install", "-q", asked)
        run(python, "-m", "pip", "--disable-pip-version-check", "check")
        found = json.loads(run(python, "-c", PROBE, json.dumps(lines())))
        return [*judged(name, found), *command(python, name)]


def lines() -> dict[str, list[str]]:
    """What is tried for each extra, as lines of Python."""
    found = {extra: [f"import {one}" for one in names] for extra, names in PROMISES.items()}
    found |= {extra: [f"import {one}" for one in names] for extra, names in HANDED.items()}
    return found | {extra: [line] for extra, line in USES.items()}


def judged(name: str, found: dict[str, str]) -> list[str]:
    """What is not as it should be: what is promised is here, and all else is here or asked for."""
    among = extras()
    has = closure(name, among) if name else set()
    problems = []
    for extra, what in found.items():
        needs = closure(extra, among)
        hints = {HINT.format(one) for one in among if closure(one, among) <= needs}
        promised = extra in HANDED or needs <= has
        if what != "here" and (promised or what not in hints):
            problems.append(f"{extra}: {what.strip().splitlines()[-1]}")
    return problems


def command(python: str, name: str) -> list[str]:
    """What is wrong with the command, which is there with click and says so without."""
    done = subprocess.run(  # noqa: S603 - our own words
        [python, "-m", "headgate.cli", "--version"], capture_output=True, text=True, check=False
    )
    if name and "click" in closure(name, extras()):
        return [] if done.returncode == 0 else [f"headgate --version: {done.stderr.strip()}"]
    said = f"headgate: {HINT.format('cli')}\n"
    # Another one may have brought click along.
    fine = done.returncode == 0 or (done.returncode, done.stderr) == (2, said)
    return [] if fine else [f"headgate --version: {done.stderr.strip()}"]


def run(*words: str) -> str:
    """What a command prints; raises CalledProcessError if it fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
