"""Whatever is wrong with rules, files and the machine is found; what is sound passes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headgate.doctor.checks import CHECKS
from headgate.doctor.examine import examine
from headgate.doctor.finding import Finding, worst
from headgate.doctor.machine import Machine, here
from tests.doctor.scenes import FIT, GATEWAY, PROXY, found, write
from tests.servers.locked import Notary

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "doctor.md"
SOUND = {"store": "shared://web", "client": PROXY, "gateway": {**GATEWAY, "workers": 4}}
ADMIN = {"listen": "127.0.0.1:9901"}


def gateway(**said: Any) -> dict[str, Any]:
    return {**SOUND, "gateway": {**SOUND["gateway"], **said}}  # type: ignore[dict-item]


def test_nothing_is_found_in_a_setup_that_is_well(tmp_path: Path) -> None:
    findings = [*examine(str(write(tmp_path, **SOUND)), machine=FIT)]

    assert found(tmp_path / "rules.json") == []
    assert worst(tuple(findings)) == "good"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {**SOUND, "store": "memory://"},
            "bad: rules.alone: FILE:LINE: each of 4 workers counts by itself in memory://",
        ),
        (
            {**SOUND, "client": {"trusted_proxies": ["0.0.0.0/0"]}},
            'bad: rules.read: FILE:LINE: client.trusted_proxies: "0.0.0.0/0" trusts everybody, who '
            "may then be anybody; name the networks of the proxies, or count them with "
            "trusted_hops",
        ),
        (
            {**SOUND, "client": {"trusted_proxies": ["127.0.0.1", "64.0.0.0/3"]}},
            "bad: client.trust: FILE:LINE: 64.0.0.0/3 is far more than anybody's proxies, and all "
            "there are believed; name the networks of your own proxies",
        ),
        (
            {**gateway(listen=":8443"), "client": {"trusted_hops": 1}},
            "bad: client.hops: FILE:LINE: 1 proxies are counted, and whoever connects is taken for "
            "one",
        ),
        (
            {**gateway(), "client": {"trusted_hops": 1}},
            "doubt: client.hops: FILE:LINE: 1 proxies are counted, and whoever connects is taken "
            "for one",
        ),
        (
            {"client": {"header": "cf-connecting-ip"}},
            "doubt: client.header: FILE:LINE: cf-connecting-ip is named, and nobody is believed",
        ),
        (
            {**gateway(), "client": {}},
            "doubt: client.near: FILE:LINE: it listens on this machine alone, believes no proxy, "
            "and counts by client.ip",
        ),
        (
            {**gateway(listen=":8080"), "client": {}},
            "doubt: gateway.plain: FILE:LINE: :8080 is reached from other machines, in plain text",
        ),
        (
            gateway(admin={**ADMIN, "token": "changeme-changeme"}),
            'bad: gateway.admin: FILE:LINE: its token has the word "changeme" in it',
        ),
        (
            gateway(admin={**ADMIN, "token": "aabbaabbaabbaabb"}),
            "bad: gateway.admin: FILE:LINE: its token is made of 2 signs",
        ),
        (
            gateway(admin={**ADMIN, "token": "xxqwertyuiopzzvb"}),
            "bad: gateway.admin: FILE:LINE: its token has letters or digits in it as they stand on "
            "the keys",
        ),
        (
            {"rules": [{"name": "a", "key": "client.ip", "limit": "1/s", "rollout": 0}]},
            "doubt: rules.lint: FILE:LINE: rules[0].rollout: is enforced for nobody; mode: shadow "
            "says so",
        ),
    ],
)  # fmt: skip
def test_what_the_rules_say_is_judged(said: dict[str, Any], message: str, tmp_path: Path) -> None:
    messages = [re.sub("FILE:[0-9]+", "FILE:LINE", one) for one in found(write(tmp_path, **said))]
    # Whoever counts hops where all can come has no TLS there either.
    plain = "doubt: gateway.plain: FILE:LINE: :8443 is reached from other machines, in plain text"

    assert messages == ([message, plain] if message.startswith("bad: client.hops") else [message])


def test_a_rule_file_with_secrets_that_others_read_is_found(tmp_path: Path) -> None:
    token = "Zk8vQ2mLw9XrT4bNc7"
    file = write(tmp_path, **gateway(admin={**ADMIN, "token": token}))
    messages = []
    for mode in (0o600, 0o640, 0o644):
        file.chmod(mode)
        messages.append(found(file))

    has = "files.secrets: FILE: has a secret in it (gateway.admin.token), and its mode is"
    assert messages == [
        [],
        [f"doubt: {has} 0640: its group reads it"],
        [f"bad: {has} 0644: everybody here reads it"],
    ]


def test_a_secret_that_stands_elsewhere_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "Zk8vQ2mLw9XrT4bNc7")
    file = write(tmp_path, **gateway(admin={**ADMIN, "token": "${TOKEN}"}))
    file.chmod(0o644)

    assert found(file) == []


def test_a_private_key_that_others_read_is_found(tmp_path: Path) -> None:
    certificate, key = Notary(tmp_path).sign("localhost")
    tls = {"certificate": str(certificate), "key": str(key)}
    file = write(tmp_path, **gateway(listen={"address": ":8443", "tls": tls}))
    key.chmod(0o604)
    open_key = found(file)
    key.chmod(0o600)
    closed = found(file)
    key.unlink()

    what = f"bad: files.keys: {key}:"
    assert open_key == [f"{what} is a private key, and its mode is 0604: everybody here reads it"]
    assert closed == []
    assert found(file) == [f"{what} cannot be looked at: No such file or directory"]


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        ({"compiled": False}, "doubt: machine.form: the core is interpreted"),
        ({"set": False}, "doubt: machine.clock: nobody sets the clock of this machine"),
        (
            {"files": 15_000},
            "doubt: machine.files: gateway: 10,000 connections need up to 20,300 files, of 15,000",
        ),
        (
            {"files": 1024},
            "bad: machine.files: gateway: 10,000 connections need up to 20,300 files, of 1,024",
        ),
        (
            {"memory": 1_000_000},
            "bad: shared.memory: /dev/shm: 1 limits take up to 5.6 MB of 1.0 MB",
        ),
        ({"kind": "ext4"}, "doubt: shared.memory: /dev/shm: is on ext4, and not in memory"),
        (
            {"has": lambda name: name != "httptools"},
            'bad: machine.extras: gateway: httptools is missing; pip install "headgate[gateway]"',
        ),
    ],
)
def test_what_the_machine_lacks_is_found(
    machine: dict[str, Any], message: str, tmp_path: Path
) -> None:
    assert found(write(tmp_path, **SOUND), FIT._replace(**machine)) == [message]


def test_a_clock_of_which_nothing_is_known_is_no_doubt(tmp_path: Path) -> None:
    assert found(write(tmp_path, **SOUND), FIT._replace(set=None)) == []


def test_a_store_that_cannot_be_asked_without_an_extra_is_found(tmp_path: Path) -> None:
    machine = FIT._replace(has=lambda name: name != "hiredis")

    assert found(write(tmp_path, store="redis://localhost"), machine) == [
        'bad: machine.extras: redis: hiredis is missing; pip install "headgate[redis]"'
    ]


def test_this_machine_is_known() -> None:
    machine = here()

    assert isinstance(machine, Machine)
    assert machine.files > 0
    assert machine.memory > 0
    assert machine.has("json")
    assert not machine.has("nothing_of_this_name.at_all")


def test_a_finding_says_why_it_matters_and_what_to_do() -> None:
    one = Finding("store.eviction", "bad", "a:1", "maxmemory-policy is allkeys-lru")

    assert str(one) == (
        "bad: store.eviction: a:1: maxmemory-policy is allkeys-lru. A key that is evicted is "
        "forgotten with all that was spent: its limit begins anew. CONFIG SET maxmemory-policy "
        "noeviction, and use a server for limits alone."
    )
    assert one.plain()["link"] == "docs/reference/doctor.md#storeeviction"
    assert "why" not in Finding("store.eviction", "good", "a:1", "is well").plain()


def test_the_page_tells_of_every_check_and_of_no_other() -> None:
    page = PAGE.read_text()
    headings = re.findall(r"^### (\S+)$", page, re.MULTILINE)

    assert headings == [*CHECKS]
    for name, check in CHECKS.items():
        section = page.partition(f"### {name}\n")[2].partition("\n#")[0]
        flat = " ".join(section.split())
        assert flat.startswith(f"{check.title[0].upper()}{check.title[1:]}.")
        assert check.mend in flat
