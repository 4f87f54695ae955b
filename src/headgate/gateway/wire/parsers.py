"""Parsers: httptools, whose llhttp is what reads HTTP here; nothing else does."""

from __future__ import annotations

from headgate.errors import MissingExtra

try:
    from httptools import (
        HttpParserError,
        HttpParserUpgrade,
        HttpRequestParser,
        HttpResponseParser,
    )
except ImportError:
    raise MissingExtra("gateway") from None

__all__ = ["HttpParserError", "HttpParserUpgrade", "HttpRequestParser", "HttpResponseParser"]
