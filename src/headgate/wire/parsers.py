"""Parsers: httptools, whose llhttp is what reads HTTP here; nothing else does."""

from __future__ import annotations

import os

from headgate.errors import MissingExtra

try:
    from httptools import (
        HttpParserError,
        HttpParserUpgrade,
        HttpRequestParser,
        HttpResponseParser,
    )
    from httptools.parser import parser
except ImportError:
    raise MissingExtra("gateway") from None

# Where llhttp is.
LIBRARY = os.fsencode(parser.__file__)

__all__ = [
    "LIBRARY",
    "HttpParserError",
    "HttpParserUpgrade",
    "HttpRequestParser",
    "HttpResponseParser",
]
