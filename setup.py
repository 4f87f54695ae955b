"""Adds the compiled core where it can be had; everything else is in pyproject.toml.

HEADGATE_PURE=1     no extensions: the plain files, interpreted
HEADGATE_REQUIRE=1  a core that does not compile fails the build (wheels, continuous integration)
neither             compile, and carry on with the plain files where that fails
HEADGATE_OPTIMIZE   how hard the compiler tries: 2 unless said, and 0 is compiled sooner
SOURCE_DATE_EPOCH   the time that archives carry: of the same files, the same archive each time
"""

from __future__ import annotations

import gzip
import os
import sys
import tarfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

SOURCE = Path("src")
CORES = os.cpu_count() or 1
LEVEL = os.environ.get("HEADGATE_OPTIMIZE") or "2"
# Warnings take 40 % of an unoptimised compilation. The optimised build prints them.
QUICK = ["-w"] if LEVEL == "0" else []
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "infer_types": True,
    "cdivision": True,
    "boundscheck": False,
    "wraparound": False,
    "freethreading_compatible": True,
}
# What strangers send must not be answered with what lies behind None in memory, if ever something
# is missing: here it is looked for at each step, and an exception. Elsewhere that costs too much.
CAREFUL = [SOURCE / "headgate" / part for part in ("wire", "gateway", "service")]


def extensions() -> list[Extension]:
    """The compiled core, or nothing where it is not wanted or Cython cannot translate it."""
    if wanted("HEADGATE_PURE"):
        return []
    try:
        found = translated()
    except Exception as error:
        if wanted("HEADGATE_REQUIRE"):
            raise
        print(f"headgate: installing without the compiled core: {type(error).__name__}: {error}")
        return []
    for extension in found:
        # Set here and not when the extension is made: cythonize() drops it.
        extension.optional = not wanted("HEADGATE_REQUIRE")
    return found


def wanted(name: str) -> bool:
    """Whether the environment asks for `name`; empty and 0 are no."""
    return os.environ.get(name, "") not in {"", "0"}


def translated() -> list[Extension]:
    """Every module that has its C types in a .pxd beside it, as C under build/."""
    from Cython.Build import cythonize  # noqa: PLC0415 - a plain install does without Cython

    typed = [path for path in sorted(SOURCE.rglob("*.py")) if path.with_suffix(".pxd").exists()]
    return [
        extension
        for careful in (True, False)
        for extension in cythonize(
            [
                Extension(dotted(path), [path.as_posix()])
                for path in typed
                if any(path.is_relative_to(part) for part in CAREFUL) == careful
            ],
            include_path=[SOURCE.as_posix()],
            build_dir="build",
            compiler_directives={**DIRECTIVES, "nonecheck": careful},
            # Where processes are forked; elsewhere each would run this file anew.
            nthreads=CORES if sys.platform == "linux" else 0,
        )
    ]


def dotted(path: Path) -> str:
    """The module's name: src/headgate/clock.py is headgate.clock."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


class Build(build_ext):
    """Compiles all of the core or none of it.

    Compiled modules know each other's C types, so one that is missing breaks those that did
    compile; and a module left over from an earlier build would hide the source it came from.
    """

    def build_extensions(self) -> None:
        """Compile afresh; where a module fails, take the others out again."""
        if self.compiler.compiler_type == "unix":
            for extension in self.extensions:
                extension.extra_compile_args += [f"-O{LEVEL}", "-g0", *QUICK]
        self.force = True
        self.remove()
        super().build_extensions()
        if not all(path.exists() for path in self.paths()):
            print("headgate: installing without the compiled core: the compiler failed")
            self.remove()

    def paths(self) -> list[Path]:
        """Where the compiled modules go."""
        return [Path(self.get_ext_fullpath(extension.name)) for extension in self.extensions]

    def remove(self) -> None:
        """Leave no compiled module behind."""
        for path in self.paths():
            path.unlink(missing_ok=True)


class Archive(sdist):
    """Packs the sources: the same files are the same archive, where a time for it is said."""

    def make_archive(self, base_name: str, format: str, **more: str) -> str:  # noqa: A002 - its name
        """One archive; as ever where it is not a .tar.gz, or no time is said."""
        moment = os.environ.get("SOURCE_DATE_EPOCH", "")
        if format != "gztar" or not moment.isdecimal():
            return super().make_archive(base_name, format, **more)
        path = Path(f"{base_name}.tar.gz")
        folder = Path(more.get("root_dir") or ".") / more["base_dir"]
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, int(moment)) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for found in sorted(one for one in folder.rglob("*") if one.is_file()):
                self.pack(archive, found, int(moment))
        return str(path)

    def pack(self, archive: tarfile.TarFile, path: Path, moment: int) -> None:
        """One file, that of a link in its place; whoever may run it may still."""
        entry = tarfile.TarInfo(path.as_posix())
        entry.size, entry.mtime = path.stat().st_size, moment
        entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        with path.open("rb") as file:
            archive.addfile(entry, file)


setup(
    ext_modules=extensions(),
    cmdclass={"build_ext": Build, "sdist": Archive},
    options={"build_ext": {"parallel": CORES}},
)
