"""Build what is released, twice, and see that it is the same and whole.

    python tools/release.py             into dist/: the sources, the wheel, and what is in it (SBOM)
    HEADGATE_PURE=1 python tools/release.py    with the wheel of plain files

What is built is the last commit, in two fresh folders, at the time of that commit; the wheel is
built from the packed sources, as whoever installs those would.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PACKAGE = "src/headgate/"
LICENCES = ("LICENSE", "NOTICE", "THIRD-PARTY.md")
# What belongs to the repository alone.
APART = (".gitignore", ".ci/", ".github/")


def main() -> int:
    """Build, compare, look inside, and list what is in it; 1 if anything is wrong."""
    moment = os.environ.get("SOURCE_DATE_EPOCH") or said("git", "log", "-1", "--format=%ct")
    if said("git", "status", "--porcelain"):
        print("note: what is not committed is not in it")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        # The second folder lies deeper: no path may show in what is built.
        first, second = built(Path(one), moment), built(Path(two) / "a" / "b", moment)
        problems = [*compared(first, second), *inspected(first)]
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        kept = [Path(shutil.copy(path, DIST)) for path in first]
    problems += checked(kept)
    (wheel,) = (path for path in kept if path.suffix == ".whl")
    bill(wheel, moment)
    for path in sorted(DIST.iterdir()):
        print(f"{digest(path)}  {path.name}  {path.stat().st_size:,} bytes")
    for problem in problems:
        print(f"wrong: {problem}")
    print("built twice and compared: the same" if not problems else "not to be released")
    return int(bool(problems))


def built(folder: Path, moment: str) -> list[Path]:
    """The archive of the sources, and the wheel that is built from it."""
    tree, out = folder / "tree", folder / "out"
    tree.mkdir(parents=True)
    packed = folder / "tree.tar"
    said("git", "archive", "--output", str(packed), "HEAD")
    with tarfile.open(packed) as archive:
        archive.extractall(tree, filter="data")
    words = ["-m", "build", "-q", "--outdir", str(out), *sys.argv[1:], str(tree)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": moment}
    if not environment.get("HEADGATE_PURE"):
        environment.setdefault("HEADGATE_REQUIRE", "1")
    subprocess.run([sys.executable, *words], check=True, env=environment)  # noqa: S603
    return sorted(out.iterdir())


def compared(first: list[Path], second: list[Path]) -> Iterator[str]:
    """What differs between two builds of the same."""
    if [path.name for path in first] != [path.name for path in second]:
        yield f"other files: {first} and {second}"
    for one, other in zip(first, second, strict=False):
        if digest(one) != digest(other):
            yield f"{one.name} is not the same when it is built again"


def inspected(paths: list[Path]) -> Iterator[str]:
    """What is missing in an archive, or too much in it."""
    known = said("git", "ls-files").splitlines()
    for path in paths:
        if path.suffix == ".whl":
            yield from lacking(path.name, wheeled(path), known)
        else:
            have = sourced(path)
            gone = [one for one in known if one not in have and not one.startswith(APART)]
            yield from (f"{path.name} lacks {one}" for one in gone)


def lacking(name: str, have: set[str], known: list[str]) -> Iterator[str]:
    """What a wheel lacks of the package and of the licences, and what should not be in it."""
    wanted = {one.removeprefix("src/") for one in known if one.startswith(PACKAGE)}
    yield from (f"{name} lacks {one}" for one in sorted(wanted - have))
    for licence in LICENCES:
        if not any(one.endswith(f".dist-info/licenses/{licence}") for one in have):
            yield f"{name} lacks {licence}"
    extra = {one for one in have - wanted if ".dist-info/" not in one and not one.endswith(".so")}
    yield from (f"{name} has {one}, which is not in the repository" for one in sorted(extra))


def wheeled(path: Path) -> set[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def sourced(path: Path) -> set[str]:
    """The files in an archive of sources, below its one folder."""
    with tarfile.open(path) as archive:
        return {one.name.partition("/")[2] for one in archive.getmembers()}


def checked(paths: list[Path]) -> Iterator[str]:
    """What the index would find fault with."""
    words = [sys.executable, "-m", "twine", "check", "--strict", *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        yield done.stdout + done.stderr


def bill(wheel: Path, moment: str) -> None:
    """Write down all that is installed with every extra, in CycloneDX's form."""
    name = "-".join(wheel.name.split("-")[:2])
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        said(python, "-m", "pip", "--disable-pip-version-check", "install", "-q", f"{wheel}[all]")
        said(python, "-m", "pip", "uninstall", "-q", "-y", "pip", "setuptools")
        words = ["environment", python, "--output-reproducible", "--of", "JSON"]
        where = ["--pyproject", str(ROOT / "pyproject.toml"), "-o", str(DIST / f"{name}.cdx.json")]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": moment}
        command = [sys.executable, "-m", "cyclonedx_py", *words, *where]
        subprocess.run(command, check=True, env=environment, capture_output=True)  # noqa: S603


def digest(path: Path) -> str:
    """What tells a file from all others."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def said(*words: str) -> str:
    """What a command prints, run at the root; raises CalledProcessError if it fails."""
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
