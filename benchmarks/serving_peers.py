"""Peers of the service: servers that make the same decision, each as its own documentation has it.

    python serving_peers.py grpc-aio PORT        grpcio's server for event loops, on uvloop
    python serving_peers.py grpc-threads PORT    grpcio's server with eight threads
    python serving_peers.py uvicorn PORT         a bare ASGI app

They decide with the limiter of this library, and answer with the same messages: what differs is
what stands between a connection and the decision.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import Any

from headgate import Limiter

METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
AMPLE = "1000000/s"
HOST = "127.0.0.1"
LIMITER = Limiter(AMPLE)


def handlers() -> tuple[Any, Any, Any]:
    """The message that is asked with, that which answers, and what makes one of the other."""
    from headgate.service.rls.messages import Request, Response

    def answer(request: Any, _context: Any = None) -> Any:
        response = Response(overall_code=1)
        for descriptor in request.descriptors:
            names = [f"{entry.key}_{entry.value}" for entry in descriptor.entries]
            decision = LIMITER.take(f"{request.domain}_{'_'.join(names)}")
            code = 1 if decision.allowed else 2
            if code > 1:
                response.overall_code = code
            status = response.statuses.add(code=code, limit_remaining=decision.remaining)
            status.current_limit.requests_per_unit = decision.limit
            status.current_limit.unit = 1
            status.duration_until_reset.seconds = ceil(decision.reset_after)
        return response

    return Request, Response, answer


def service(handler: Any) -> Any:
    """A handler of grpcio for the one method."""
    import grpc

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: Any) -> Any:
            return handler if details.method == METHOD else None

    return Handler()


def grpc_aio(port: int) -> None:
    """Serve with grpcio in an event loop."""
    import grpc
    import uvloop

    request, _, answer = handlers()

    async def awaited(asked: Any, context: Any) -> Any:
        return answer(asked, context)

    async def main() -> None:
        server = grpc.aio.server()
        handler = grpc.unary_unary_rpc_method_handler(
            awaited, request.FromString, lambda said: said.SerializeToString()
        )
        server.add_generic_rpc_handlers((service(handler),))
        server.add_insecure_port(f"{HOST}:{port}")
        await server.start()
        await server.wait_for_termination()

    uvloop.run(main())


def grpc_threads(port: int) -> None:
    """Serve with grpcio in threads."""
    import grpc

    request, _, answer = handlers()
    server = grpc.server(ThreadPoolExecutor(8))
    handler = grpc.unary_unary_rpc_method_handler(
        answer, request.FromString, lambda said: said.SerializeToString()
    )
    server.add_generic_rpc_handlers((service(handler),))
    server.add_insecure_port(f"{HOST}:{port}")
    server.start()
    server.wait_for_termination()


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """What `POST /v1/take` answers, in bare ASGI."""
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    asked = json.loads(body)
    decision = LIMITER.take(asked["key"], asked.get("cost", 1))
    said = {
        "allowed": decision.allowed,
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_after": decision.retry_after,
        "reset_after": decision.reset_after,
        "reason": decision.reason,
        "rule": decision.rule,
        "degraded": decision.degraded,
    }
    content = json.dumps(said).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(content)),
        (b"ratelimit-policy", b'"api";q=%d;w=1' % decision.limit),
        (b"ratelimit", b'"api";r=%d;t=%d' % (decision.remaining, ceil(decision.reset_after))),
    ]
    status = 200 if decision.allowed else 429
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def uvicorn(port: int) -> None:
    """Serve with uvicorn, on uvloop and httptools."""
    import uvicorn as server

    server.run(app, host=HOST, port=port, loop="uvloop", http="httptools", log_level="warning",
               access_log=False, lifespan="off")  # fmt: skip


if __name__ == "__main__":
    serve = {"grpc-aio": grpc_aio, "grpc-threads": grpc_threads, "uvicorn": uvicorn}
    serve[sys.argv[1]](int(sys.argv[2]))
