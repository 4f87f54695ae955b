"""Headgate: flow control for services. Rate limits that are exact, fast, and the same everywhere.

from headgate import Limiter

limiter = Limiter("100/min")
if not limiter.take("user:42"):
    ...  # over the limit
"""

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.gcra import GCRA
from headgate.algorithms.leaky_bucket import LeakyBucket
from headgate.algorithms.limit import Limit
from headgate.algorithms.sliding_log import SlidingLog
from headgate.algorithms.sliding_window import SlidingWindow
from headgate.algorithms.token_bucket import TokenBucket
from headgate.algorithms.warm_up import WarmUp
from headgate.async_limiter import AsyncLimiter, AsyncReservation
from headgate.clock import COMPILED, Clock, ManualClock, SystemClock
from headgate.decision import Decision
from headgate.errors import (
    CannotFit,
    HeadgateError,
    LimitError,
    LimitExceeded,
    MissingExtra,
    RateError,
    StoreMismatch,
    StoreUnavailable,
)
from headgate.flow import Permit, Reservation
from headgate.limiter import Limiter
from headgate.rate import Rate
from headgate.stores.leases.store import LeasedStore
from headgate.stores.memory import MemoryStore
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.store import RedisStore
from headgate.stores.shared.store import SharedStore

__version__ = "0.1.0"

__all__ = [
    "COMPILED",
    "GCRA",
    "AsyncLimiter",
    "AsyncRedisStore",
    "AsyncReservation",
    "CannotFit",
    "Clock",
    "Decision",
    "FixedWindow",
    "HeadgateError",
    "LeakyBucket",
    "LeasedStore",
    "Limit",
    "LimitError",
    "LimitExceeded",
    "Limiter",
    "ManualClock",
    "MemoryStore",
    "MissingExtra",
    "Permit",
    "Rate",
    "RateError",
    "RedisStore",
    "Reservation",
    "SharedStore",
    "SlidingLog",
    "SlidingWindow",
    "StoreMismatch",
    "StoreUnavailable",
    "SystemClock",
    "TokenBucket",
    "WarmUp",
]
