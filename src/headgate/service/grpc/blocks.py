"""Blocks: the header blocks of a connection, in turn, and what they say.

What the bytes of a block mean depends on a table, which blocks change as they go. A block that left
the table as it was means the same as long as the table stays so: those are remembered.
"""

from __future__ import annotations

from headgate.errors import MissingExtra
from headgate.service.grpc.frames import COMPRESSION_ERROR, ENHANCE_YOUR_CALM, Broken
from headgate.service.grpc.head import Head
from headgate.service.grpc.terms import LIGHT

try:
    from hpack import Decoder, HPACKError, OversizedHeaderListError
except ImportError:
    raise MissingExtra("service") from None

# Bytes of all headers of a block together, as RFC 9113 counts them: 32 more for each.
LIST = 65_536
# So many blocks are remembered, of at most so many bytes.
REMEMBERED = 64
LONGEST = 512


class Blocks:
    """Reads the header blocks of a connection; `known` are those that still mean the same."""

    __slots__ = ("decoder", "known", "state")

    def __init__(self) -> None:
        self.decoder = Decoder(max_header_list_size=LIST)
        self.known: dict[bytes, Head] = {}
        self.state = state(self.decoder)

    def read(self, block: bytes) -> Head:
        """What a block says; raises Broken if nothing after it could be read either."""
        found = self.known.get(block)
        if found is not None:
            return found
        try:
            lines = self.decoder.decode(block, raw=True)
        except OversizedHeaderListError:
            raise Broken(ENHANCE_YOUR_CALM, "headers have at most 64 KiB") from None
        except HPACKError as problem:
            raise Broken(COMPRESSION_ERROR, f"headers cannot be read: {problem}"[:200]) from None
        head = Head([(bytes(name), bytes(value)) for name, value in lines])
        after = state(self.decoder)
        if after != self.state or after[0] is not self.state[0]:
            self.known.clear()
        elif len(block) <= LONGEST and head.weight <= LIGHT:
            if len(self.known) >= REMEMBERED:
                self.known.clear()
            self.known[block] = head
        self.state = after
        return head


def state(decoder: Decoder) -> tuple[object, int, int]:
    """What can be told of a table: it has changed if and only if this has.

    An entry that is added is a new first one, and those that leave make it shorter.
    """
    table = decoder.header_table
    entries = table.dynamic_entries
    return (entries[0] if entries else None, len(entries), table.maxsize)
