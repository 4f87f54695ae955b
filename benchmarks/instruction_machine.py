"""Describes what instruction counts depend on: processor, kernel, libraries, compilers, packages.

python instruction_machine.py    the description as JSON, of this interpreter and its package
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import sysconfig
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

COMPILER = re.compile(rb"GCC: \([^)\n]{1,80}\) [\d.]+|clang version [\d.]+")
CYTHON = re.compile(rb"_cython_(\d+_\d+(?:_\w+?)?)(?:[\x00.])")
PACKAGES = ("hiredis", "hpack", "httptools", "protobuf", "redis", "uvloop")


def describe_machine() -> dict[str, str]:
    """The facts by name; two equal descriptions give equal counts."""
    compiled = find_compiled(find_package())
    content = compiled.read_bytes() if compiled else b""
    return {
        "processor": read_processor(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "python built by": platform.python_compiler(),
        "python options": describe_options(),
        "package built by": _find(COMPILER, content),
        "cython": _find(CYTHON, content).replace("_", "."),
        "valgrind": _run("valgrind", "--version"),
        **{name: read_version(name) for name in PACKAGES},
    }


def read_processor() -> str:
    """The model of the processor, by the kernel's account."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def describe_options() -> str:
    """How the interpreter was configured, without paths."""
    words = (sysconfig.get_config_var("CONFIG_ARGS") or "").replace("'", "").split()
    kept = [word for word in words if word.startswith(("--enable", "--with")) and "/" not in word]
    flags = (sysconfig.get_config_var("PY_CFLAGS") or "").split()
    return " ".join([*kept, *(flag for flag in flags if flag.startswith("-O"))])


def read_version(package: str) -> str:
    """The version of an installed package; empty if it is not installed."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return ""


def find_package() -> Path:
    """The folder of the installed package."""
    import headgate

    return Path(str(headgate.__file__)).parent


def find_compiled(package: Path) -> Path | None:
    """Any compiled module of the package."""
    return next(iter(sorted(package.rglob("*.so"))), None)


def _find(pattern: re.Pattern[bytes], content: bytes) -> str:
    match = pattern.search(content)
    return (match[match.lastindex or 0]).decode() if match else ""


def _run(*words: str) -> str:
    with suppress(OSError):
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return ""


def main() -> None:
    """Print the description."""
    import headgate

    facts: dict[str, Any] = {
        "package": str(find_package()),
        "compiled": bool(headgate.COMPILED),
        "headgate": headgate.__version__,
        "machine": describe_machine(),
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
