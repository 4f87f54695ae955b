"""Servers that ask for a password, and servers that speak TLS."""

from __future__ import annotations

import ssl

import pytest

from tests.servers import secure
from tests.servers.binaries import Missing
from tests.servers.keeper import keeper
from tests.servers.launch import Server
from tests.servers.secure import GUEST, OWNER, certificates
from tests.servers.wire import Login, Refusal, Wire


def test_a_stranger_is_not_answered(password_server: Server) -> None:
    with Wire(password_server.port) as wire, pytest.raises(Refusal) as refusal:
        wire.ask("GET", "headgate")
    assert str(refusal.value) == "NOAUTH Authentication required."


def test_a_wrong_password_is_refused(password_server: Server) -> None:
    with pytest.raises(Refusal) as refusal:
        Wire(password_server.port, Login("guest", "wrong"))
    assert str(refusal.value) == ("WRONGPASS invalid username-password pair or user is disabled.")


def test_the_owner_may_do_everything(password_server: Server) -> None:
    assert password_server.ask("CONFIG", "GET", "requirepass") == ["requirepass", OWNER.password]


FORBIDDEN = [("CONFIG", "GET", "*"), ("GET", "other"), ("FLUSHALL",)]


def test_a_guest_may_use_the_keys_that_are_his(password_server: Server) -> None:
    with Wire(password_server.port, GUEST) as wire:
        said = wire.ask("SET", "headgate:a", "1")

    assert said == "OK"


@pytest.mark.parametrize("command", FORBIDDEN, ids=" ".join)
def test_a_guest_may_not_do_more(password_server: Server, command: tuple[str, ...]) -> None:
    with Wire(password_server.port, GUEST) as wire, pytest.raises(Refusal, match=r"^NOPERM "):
        wire.ask(*command)


def test_an_address_says_who_comes(password_server: Server) -> None:
    here = f"127.0.0.1:{password_server.port}"

    assert password_server.url == f"redis://default:open-sesame@{here}"
    assert password_server.address(GUEST) == f"redis://guest:swordfish@{here}"
    assert password_server.address(None) == f"redis://{here}"


def test_a_tls_server_is_trusted_by_its_authority(tls_server: Server) -> None:
    assert tls_server.ask("PING") == "PONG"
    assert tls_server.url == f"rediss://127.0.0.1:{tls_server.port}"


def test_a_tls_server_is_not_trusted_by_another_authority(tls_server: Server) -> None:
    other, _, _ = certificates(keeper().room("certificates"))

    with pytest.raises(ssl.SSLCertVerificationError):
        Wire(tls_server.port, authority=other)


def test_a_tls_server_does_not_speak_plainly(tls_server: Server) -> None:
    with Wire(tls_server.port) as wire, pytest.raises(OSError):
        wire.ask("PING")


@pytest.mark.usefixtures("tls_server")
def test_a_program_without_tls_is_missing(valkey: Server) -> None:
    if b"libssl" in valkey.binary.read_bytes():
        pytest.skip("this Valkey has TLS built in")

    with pytest.raises(Missing) as missing, secure.tls_server("valkey"):
        pass
    assert str(missing.value) == "the valkey server here has no TLS built in"
