"""Servers that ask who is there, and servers that show who they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.servers.binaries import Missing
from tests.servers.keeper import keeper
from tests.servers.launch import Server
from tests.servers.process import ServerStartError
from tests.servers.wire import Login

OWNER = Login("default", "open-sesame")
# May do nothing that is dangerous, and all else only to keys that begin with `headgate`.
GUEST = Login("guest", "swordfish")


def password_server(kind: str = "valkey") -> Server:
    """A server that answers `OWNER` in all things, `GUEST` in some, and strangers with NOAUTH."""
    guest = (GUEST.name, "on", f">{GUEST.password}", "~headgate*", "&*", "+@all", "-@dangerous")
    return Server(kind, "--requirepass", OWNER.password, "--user", *guest, login=OWNER)


@contextmanager
def tls_server(kind: str = "redis") -> Iterator[Server]:
    """A server that speaks nothing but TLS, with a certificate for `127.0.0.1` and `localhost`.

    Its `authority` is the file with the only certificate to trust. The Valkey of the wheel has no
    TLS built in, hence the Redis.
    """
    authority, certificate, key = certificates(keeper().room("certificates"))
    server = Server(
        kind,
        *("--port", "0", "--tls-auth-clients", "optional"),
        *("--tls-ca-cert-file", str(authority)),
        *("--tls-cert-file", str(certificate), "--tls-key-file", str(key)),
        authority=authority,
    )
    with ExitStack() as stack:
        try:
            stack.enter_context(server)
        except ServerStartError as error:
            # A program that was built without it does not even know the words.
            if "tls" in str(error).lower():
                raise Missing(f"the {kind} server here has no TLS built in") from error
            raise
        yield server


def certificates(folder: Path) -> tuple[Path, Path, Path]:
    """A fresh authority, a certificate that it gave this machine, and the key of that."""
    if find_spec("trustme") is None:
        raise Missing("no certificates here; pip install trustme")
    import trustme

    authority = trustme.CA()
    ours = authority.issue_cert("127.0.0.1", "localhost")
    paths = folder / "authority.pem", folder / "server.pem", folder / "server.key"
    authority.cert_pem.write_to_path(str(paths[0]))
    ours.cert_chain_pems[0].write_to_path(str(paths[1]))
    ours.private_key_pem.write_to_path(str(paths[2]))
    return paths
