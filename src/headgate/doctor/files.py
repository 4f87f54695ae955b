"""Files: who can read what they should not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from headgate.doctor.finding import BAD, DOUBT, GOOD, Finding
from headgate.doctor.settings import Sheet, listeners
from headgate.rules.model.rules import Rules


def guarded(page: Sheet, rules: Rules) -> Iterator[Finding]:
    """Whether others can read a rule file in which secrets stand, or a private key."""
    names = [name for name, secret in kept(rules) if secret and secret in page.text]
    if names:
        yield read(page.file, "files.secrets", f"has a secret in it ({', '.join(names)})")
    for one in listeners(rules):
        if one.tls is not None:
            yield read(one.tls.key, "files.keys", "is a private key")


def kept(rules: Rules) -> Iterator[tuple[str, str]]:
    """The secrets of a rule file, each with where it stands."""
    yield "store", password(rules.store)
    for name in ("gateway", "service"):
        terms = getattr(rules, name)
        if terms is not None and terms.admin is not None:
            yield f"{name}.admin.token", terms.admin.token
    if rules.service is not None:
        yield "service.secret", rules.service.secret
        for name, caller in rules.service.callers.items():
            for token in caller.token:
                yield f"service.callers.{name}.token", token
    for key in getattr(rules.budget, "keys", ()) or ():
        yield "budget.keys", str(key)


def password(url: str) -> str:
    """The password in the URL of a store, as it stands there."""
    login, at, _ = url.partition("://")[2].rpartition("@")
    return login.partition(":")[2] if at else ""


def read(name: str, check: str, what: str) -> Finding:
    """Who can read a file."""
    try:
        mode = stat.S_IMODE(os.stat(name).st_mode)
    except OSError as problem:
        return Finding(check, BAD, name, f"cannot be looked at: {problem.strerror}")
    found = f"{what}, and its mode is {mode:04o}"
    if mode & stat.S_IROTH:
        return Finding(check, BAD, name, f"{found}: everybody here reads it")
    if mode & stat.S_IRGRP:
        return Finding(check, DOUBT, name, f"{found}: its group reads it")
    return Finding(check, GOOD, name, found)
