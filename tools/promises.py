"""What extras promise: modules that can be imported with them, and which extra an import lacks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What each extra is there for. Without it an import of these says which one to install.
PROMISES = {
    "cli": ("headgate.cli.program", "headgate.cli.top.picture"),
    "django": ("headgate.adapters.django.middleware",),
    "fastapi": ("headgate.adapters.fastapi",),
    "flask": ("headgate.adapters.flask",),
    "gateway": ("headgate.wire.parsers", "headgate.gateway.gateway", "headgate.workers.master"),
    "grpc": ("headgate.adapters.grpc",),
    "otel": ("headgate.telemetry.opentelemetry",),
    "requests": ("headgate.adapters.outgoing.requests", "headgate.adapters.budget.requests"),
    "service": ("headgate.service.rls", "headgate.service.service"),
    "yaml": ("headgate.rules.documents.yaml",),
}
# What is asked for when it is used, not when it is imported: lines that need the extra.
USES = {
    # Without it the page says so itself, and has tables instead.
    "dashboard": "from headgate import MissingExtra; from headgate.dashboard.charts import script\n"
    "if script() is None: raise MissingExtra('dashboard')",
    # REST framework reads the settings of a project when it is imported.
    "drf": "import headgate.adapters.django; from django.conf import settings; "
    "settings.configure(); import headgate.adapters.django.throttle",
    "prometheus": "from headgate.telemetry.prometheus import require; require()",
    "replay": "from headgate.replay.page import library; library()",
    "redis": "from headgate.stores.redis.wire import reader; reader()",
    "retry": "from headgate import RetryBudget; RetryBudget() | RetryBudget()",
}
# What wraps what the user hands in has nothing to import but what needs nothing.
HANDED = {
    "aiohttp": ("headgate.adapters.outgoing.aiohttp",),
    "httpx": ("headgate.adapters.outgoing.httpx",),
}
# Extras that are others by another name, and those for who works on Headgate itself.
JOINED = ("all", "demo")
TOOLS = ("dev", "docs")
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def extras() -> dict[str, list[str]]:
    """What each extra asks for, as pyproject.toml has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: dict[str, list[str]] = project["optional-dependencies"]
    return found


def closure(name: str, among: dict[str, list[str]]) -> set[str]:
    """The distributions that an extra asks for, by their plain names, also through others."""
    found: set[str] = set()
    for line in among[name]:
        match = NAME.match(line)
        if match is None:
            continue
        if match[0] != "headgate":
            found.add(plain(match[0]))
            continue
        for other in line.partition("[")[2].partition("]")[0].split(","):
            found |= closure(other.strip(), among)
    return found


def plain(name: str) -> str:
    """The name of a distribution as all spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()
