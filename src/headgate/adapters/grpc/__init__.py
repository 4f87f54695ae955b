"""gRPC: the rules in front of a server of grpcio, in threads or in an event loop.

    grpc.server(pool, interceptors=[HeadgateInterceptor("rules.yaml")])
    grpc.aio.server(interceptors=[AsyncHeadgateInterceptor("rules.yaml")])

To a rule a call is a POST to `/package.Service/Method`, with its metadata as headers. How limits
stand is told in the trailing metadata, refused or not. See `status` for how a no is said; to
answer with something less, or to redirect, is nothing that gRPC knows. An answer's status is what
its code is in HTTP, `response.header.NAME` stands in the trailing metadata, and its body is all of
its messages.

A place under `concurrent` is held while the server works on the call: until the last message of a
stream, or until it notices that the client has gone. In an event loop that is at once. A thread
notices when it has made its next message.
"""

from __future__ import annotations

import asyncio
from typing import Any

from headgate.errors import MissingExtra

try:
    import grpc
    import grpc.aio
except ImportError:
    raise MissingExtra("grpc") from None

from headgate.adapters.arrivals import Finder, Reception
from headgate.adapters.grpc.bridge import Bridge
from headgate.adapters.grpc.usher import AsyncUsher, Usher, awaited, rewired, shape
from headgate.clock import Clock
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.lodge import Source

__all__ = ["AsyncHeadgateInterceptor", "HeadgateInterceptor"]


class HeadgateInterceptor(grpc.ServerInterceptor):  # type: ignore[misc]
    """Puts rules in front of a server with threads.

    `rules` are a file, a `Rules` value, or a `Gatekeeper` that others use as well. `user` and
    `plan` are functions of the call's context that say who it is from and what they have booked.
    """

    def __init__(
        self,
        rules: Source | Gatekeeper,
        store: str = "",
        user: Finder | None = None,
        plan: Finder | None = None,
        clock: Clock | None = None,
    ) -> None:
        keeper = rules if isinstance(rules, Gatekeeper) else Gatekeeper(rules, store, clock)
        self.keeper = keeper
        self._reception = Reception(keeper, user or nobody, plan or nobody)

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """The handler of a call, behind the rules."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        usher = Usher(self.keeper, self._reception, handler_call_details, handler)
        return rewired(handler, usher.stream if handler.response_streaming else usher.answer)


class AsyncHeadgateInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """`HeadgateInterceptor` for servers in an event loop; handlers may still be plain functions."""

    def __init__(
        self,
        rules: Source | AsyncGatekeeper,
        store: str = "",
        user: Finder | None = None,
        plan: Finder | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.keeper = (
            rules if isinstance(rules, AsyncGatekeeper) else AsyncGatekeeper(rules, store, clock)
        )
        self._reception = Reception(self.keeper, user or nobody, plan or nobody)

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """The handler of a call, behind the rules."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        usher: Any = AsyncUsher(self.keeper, self._reception, handler_call_details, handler)
        task = asyncio.current_task()
        if task is not None and not awaited(getattr(handler, shape(handler))):
            bridge = Bridge(self.keeper, task, handler.response_streaming)
            usher = Usher(bridge, self._reception, handler_call_details, handler)
        return rewired(handler, usher.stream if handler.response_streaming else usher.answer)


def nobody(context: Any) -> str:
    """Who it is, where the application does not say."""
    return ""
