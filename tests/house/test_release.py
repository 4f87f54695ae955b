"""What is released is whole, the same each time, and its extras keep their promises."""

from __future__ import annotations

import gzip
import runpy
import sys
import tarfile
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import extras
import release
from promises import ROOT

WHOLE = {
    "headgate/__init__.py",
    "headgate/clock.pxd",
    *(f"headgate-0.1.0.dist-info/licenses/{name}" for name in release.LICENCES),
    "headgate-0.1.0.dist-info/METADATA",
    "headgate/clock.cpython-311-x86_64-linux-gnu.so",
}
KNOWN = ["README.md", "src/headgate/__init__.py", "src/headgate/clock.pxd"]


@pytest.mark.parametrize(
    ("gone", "more", "said"),
    [
        (set(), set(), []),
        ({"headgate/clock.pxd"}, set(), ["x.whl lacks headgate/clock.pxd"]),
        ({"headgate-0.1.0.dist-info/licenses/NOTICE"}, set(), ["x.whl lacks NOTICE"]),
        (set(), {"headgate/clock.c"}, ["x.whl has headgate/clock.c, which is not in the "
         "repository"]),
    ],
)  # fmt: skip
def test_what_a_wheel_lacks_or_has_too_much_is_found(
    gone: set[str], more: set[str], said: list[str]
) -> None:
    assert [*release.lacking("x.whl", (WHOLE - gone) | more, KNOWN)] == said


def test_whatever_stands_in_the_package_is_installed() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    source = ROOT / "src"
    left = []
    for path in (source / "headgate").rglob("*"):
        if path.is_dir() or "__pycache__" in path.parts or path.suffix in (".py", ".so", ".pyc"):
            continue
        package = next(one for one in path.parents if (one / "__init__.py").exists())
        name = ".".join(package.relative_to(source).parts)
        patterns = [*told["package-data"]["*"], *told["package-data"].get(name, ())]
        inner = path.relative_to(package)
        if not any(inner.match(one) and len(inner.parts) == len(Path(one).parts)
                   for one in patterns):  # fmt: skip
            left.append(str(path))

    assert left == []


def test_two_builds_that_differ_are_found(tmp_path: Path) -> None:
    paths = [tmp_path / place / "a.whl" for place in ("one", "two", "three")]
    for path, text in zip(paths, ("a", "a", "b"), strict=True):
        path.parent.mkdir()
        path.write_text(text)

    assert [*release.compared(paths[:1], paths[1:2])] == []
    assert [*release.compared(paths[:1], paths[2:])] == [
        "a.whl is not the same when it is built again"
    ]


def test_sources_are_packed_the_same_whatever_they_went_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1763500000")
    archives = []
    for place, moment in (("one", 1_000_000), ("two", 2_000_000)):
        folder = tmp_path / place / "headgate-0"
        folder.mkdir(parents=True)
        for name in ("b", "a") if moment > 1_000_000 else ("a", "b"):
            (folder / name).write_text(name)
        (folder / "a").chmod(0o755 if place == "one" else 0o711)
        (folder / "link").symlink_to("b")
        monkeypatch.chdir(folder.parent)
        archives.append(Path(packed("headgate-0")).read_bytes())

    assert archives[0] == archives[1]
    with tarfile.open(tmp_path / "one" / "headgate-0.tar.gz") as archive:
        members = [(one.name, one.mode, one.mtime, one.issym()) for one in archive]
    assert members == [
        ("headgate-0/a", 0o755, 1763500000, False),
        ("headgate-0/b", 0o644, 1763500000, False),
        ("headgate-0/link", 0o644, 1763500000, False),
    ]
    assert gzip.decompress(archives[0])


def packed(name: str) -> str:
    """What setup.py packs a folder into."""
    import setuptools

    kept, setuptools.setup = setuptools.setup, lambda **_: None
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HEADGATE_PURE", "1")
            found: dict[str, Any] = runpy.run_path(str(ROOT / "setup.py"))
    finally:
        setuptools.setup = kept
    archive = found["Archive"]
    stand_in = SimpleNamespace(pack=lambda *words: archive.pack(None, *words))
    return str(archive.make_archive(stand_in, name, "gztar", base_dir=name))


@pytest.mark.soak
def test_each_extra_alone_keeps_its_promises(tmp_path: Path) -> None:
    words = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADGATE_PURE", "1")
        release.said(sys.executable, *words)
    (wheel,) = tmp_path.glob("*.whl")

    assert extras.main([str(wheel)]) == 0
