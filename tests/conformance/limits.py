"""Limits of many shapes, by algorithm: round and awkward rates, and every option."""

from __future__ import annotations

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)

LIMITS = {
    "token_bucket": [
        TokenBucket("10/s burst 3"),
        TokenBucket("3/s", burst=7, penalty=2),
        TokenBucket("1000000/day"),
        TokenBucket("999983/s", burst=5),
        TokenBucket("7 per 1000003us", burst=50, initial=1),
        TokenBucket("5/min burst 12", refill="interval"),
        TokenBucket("5/s", borrow=True, initial=0),
        TokenBucket("1000003/day", burst=40, borrow=True, penalty=1),
    ],
    "gcra": [
        GCRA("10/s burst 3"),
        GCRA("3/s", burst=7, penalty=2),
        GCRA("1000000/day"),
        GCRA("999983/s", burst=5),
        GCRA("7 per 1000003us", burst=50),
        GCRA("1000003/day", burst=40),
    ],
    "leaky_bucket": [
        LeakyBucket("10/s burst 3"),
        LeakyBucket("3/s", burst=7, penalty=2),
        LeakyBucket("1000000/day"),
        LeakyBucket("999983/s", burst=5),
        LeakyBucket("7 per 1000003us", burst=50),
        LeakyBucket("1000003/day", burst=40),
    ],
    "fixed_window": [
        FixedWindow("5/min"),
        FixedWindow("5/min", anchor="first"),
        FixedWindow("80/s", penalty=3),
        FixedWindow("3 per 7us"),
        FixedWindow("3 per 999983us", anchor="first", penalty=1),
        FixedWindow("1000000/day"),
        FixedWindow("20/day", calendar="day", zone="Europe/Berlin"),
        FixedWindow("20 per 30day", calendar="month", zone="America/New_York"),
    ],
    "sliding_window": [
        SlidingWindow("10/s"),
        SlidingWindow("10/s", parts=1),
        SlidingWindow("3 per 7us", parts=7),
        SlidingWindow("80/s", parts=2, oldest="whole", penalty=3),
        SlidingWindow("999983/min", parts=3),
        SlidingWindow("1000003/day", parts=24),
    ],
    "sliding_log": [
        SlidingLog("1/s"),
        SlidingLog("2 per 7us"),
        SlidingLog("5/min", penalty=1),
        SlidingLog("20/s"),
        SlidingLog("30/day"),
    ],
    "warm_up": [
        WarmUp("2/s", period=3.0),
        WarmUp("5/s", period=0.5, penalty=1),
        WarmUp("999983/s", period=60.0),
        WarmUp("1000003/day", period=600.0),
        WarmUp("7 per 1000003us", period=1.0),
    ],
}
