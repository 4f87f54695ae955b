"""Certificates for tests of TLS, and both ends of it."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import trustme

from tests.gateway.talking import Talk


class Notary:
    """An authority, and files of what it has signed: a certificate for this machine and its key."""

    def __init__(self, folder: Path, name: str = "localhost") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = trustme.CA()
        self.folder = folder
        self.ca = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(str(self.ca))
        self.certificate, self.key = self.sign(name, "127.0.0.1")

    def sign(self, *names: str) -> tuple[Path, Path]:
        """A certificate for these names, and its key."""
        signed = self.authority.issue_cert(*names)
        paths = self.folder / f"{names[0]}.pem", self.folder / f"{names[0]}.key"
        signed.cert_chain_pems[0].write_to_path(str(paths[0]))
        signed.private_key_pem.write_to_path(str(paths[1]))
        return paths

    @property
    def tls(self) -> dict[str, str]:
        """As a listener says it."""
        return {"certificate": str(self.certificate), "key": str(self.key)}

    def visiting(self, *shown: Path) -> ssl.SSLContext:
        """How a client speaks to whom this authority has signed for."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.set_alpn_protocols(["h2", "http/1.1"])
        if shown:
            context.load_cert_chain(*map(str, shown))
        return context

    def serving(self) -> ssl.SSLContext:
        """How a server speaks that has the certificate."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(str(self.certificate), str(self.key))
        context.set_alpn_protocols(["h2", "http/1.1"])
        return context


def lock(talk: Talk, context: ssl.SSLContext, name: str = "localhost") -> Any:
    """Go on in TLS."""
    talk.socket = context.wrap_socket(talk.socket, server_hostname=name)
    return talk.socket
