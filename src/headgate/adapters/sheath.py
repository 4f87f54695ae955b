"""Sheath: what goes around a transport of httpx or httpx2, and is opened and closed with it.

The two libraries speak to transports alike, and nothing of either is needed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Both libraries have a class of their own for transports; to type checkers this is either.
if TYPE_CHECKING:
    Either = Any
else:
    Either = object


class Sheath(Either):  # type: ignore[misc]
    """Around the transport that is `wrapped`. What is sent is up to whoever adds `handle_request`
    and `handle_async_request`.
    """

    def __init__(self, wrapped: Any) -> None:
        if not (hasattr(wrapped, "handle_request") or hasattr(wrapped, "handle_async_request")):
            raise TypeError(
                f"Transport: wrapped is a transport such as httpx.HTTPTransport(), not {wrapped!r}"
            )
        self.wrapped = wrapped

    def close(self) -> None:
        """Close the one that is wrapped."""
        self.wrapped.close()

    def aclose(self) -> Any:
        """The same, awaited."""
        return self.wrapped.aclose()

    def __enter__(self) -> Any:
        self.wrapped.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.wrapped.__exit__(*exc)

    def __aenter__(self) -> Any:
        return entered(self)

    def __aexit__(self, *exc: object) -> Any:
        return self.wrapped.__aexit__(*exc)


async def entered(sheath: Sheath) -> Sheath:
    await sheath.wrapped.__aenter__()
    return sheath
