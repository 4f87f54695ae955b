"""Terms: what a client is told of how much it may say, and what it is held to besides."""

from __future__ import annotations

from headgate.service.grpc.frames import (
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    MAX_HEADER_LIST_SIZE,
    WINDOW,
    setting,
    widening,
)

# Calls at once.
STREAMS = 1000
# Bytes that may come before it is said that more may: in all, and of one call. A message of a call
# that has but one fits in whole.
WIDE = 1_048_576
STREAM_WINDOW = 131_072
HALF = WIDE // 2
STREAM_HALF = STREAM_WINDOW // 2
# Bytes of messages that are not whole, besides one, and of headers of calls that are longer than
# `LIGHT`; of answers that are not taken in.
LIGHT = 4096
HOARD = 4_194_304
OWED = 4_194_304
# Bytes of a header block, and in how many frames it may come.
BLOCK = 65_536
PARTS = 16
# The house is told the time ten times a second, and less often when there is much to do: a call
# that began in between is not to end before its time. Its client ends it in time itself.
LAG = 250_000
# Settings in one frame.
SETTLED = 64
# Streams that ended before the client had said all: what was on its way is let pass.
SHED = 2_000
# Frames that bring no call on: at once, in a second, and for each call that begins, each that is
# answered, and each KiB that is taken in. Common clients send two of them for every call.
FUSS = (2_000, 100, 8)
# Calls that are taken back, or end because the client broke a rule.
RESETS = (STREAMS, 50, 1)

# What we say before anything else.
OURS = setting(
    (MAX_CONCURRENT_STREAMS, STREAMS),
    (INITIAL_WINDOW_SIZE, STREAM_WINDOW),
    (MAX_HEADER_LIST_SIZE, 65_536),
) + widening(0, WIDE - WINDOW)
