"""Berth: a socket to be listened on, and how TLS is spoken there."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import stat
from contextlib import suppress
from typing import Any

from headgate.rules.model.place import Place

BACKLOG = 2048


def bind(place: Place) -> socket.socket:
    """A socket that is bound to a place, to be listened on; several processes may have one each."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) if place.path else plug(place)
    try:
        if place.path:
            # One that a process left behind which is no more.
            with suppress(FileNotFoundError):
                if stat.S_ISSOCK(os.stat(place.path).st_mode):
                    os.unlink(place.path)
            line.bind(place.path)
        else:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            line.bind((place.host, place.port))
    except OSError:
        line.close()
        raise
    line.setblocking(False)
    return line


def plug(place: Place) -> socket.socket:
    """A socket of the family that a host and a port are of, to be bound to them."""
    family = socket.AF_INET6 if ":" in place.host or not place.host else socket.AF_INET
    try:
        line = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as problem:
        if place.host or problem.errno != errno.EAFNOSUPPORT:
            raise
        # Where the kernel has no IPv6, all interfaces are those of IPv4.
        family = socket.AF_INET
        line = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        # All interfaces are those of both families.
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(place.host)))
    return line


def context(tls: Any, protocol: str) -> ssl.SSLContext:
    """How TLS is spoken to clients, who are told which protocol is spoken in it."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        made.load_cert_chain(tls.certificate, tls.key)
    except OSError as problem:
        said = f"tls: {tls.certificate} and {tls.key} are no certificate and its key: {problem}"
        raise OSError(said) from None
    if tls.clients:
        try:
            made.load_verify_locations(tls.clients)
        except OSError as problem:
            raise OSError(f"tls: {tls.clients} has no certificates: {problem}") from None
        made.verify_mode = ssl.CERT_REQUIRED
    if protocol:
        made.set_alpn_protocols([protocol])
    return made
