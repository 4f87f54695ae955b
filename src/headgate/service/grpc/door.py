"""Door: who calls, and whether they may."""

from __future__ import annotations

from typing import Any

from headgate.service.grpc.call import Call
from headgate.service.grpc.methods import Method
from headgate.service.grpc.status import RESOURCE_EXHAUSTED, UNAUTHENTICATED, Status


def admit(channel: Any, call: Call, method: Method) -> None:
    """Find out who calls; raises Status if they may not."""
    if method.spare:
        return
    callers = channel.hall.callers
    token = call.head.token
    caller = callers.known(token.decode("latin-1")) if token else None
    if caller is None and channel.port.caller:
        caller = callers.named(channel.port.caller)
    if caller is None:
        if callers.needed:
            raise Status(UNAUTHENTICATED, "there is no token, or nobody has it")
        return
    call.caller = channel.caller = caller
    if not caller.take(1):
        channel.hall.refused += 1
        raise Status(RESOURCE_EXHAUSTED, f"{caller.name} calls too often")
