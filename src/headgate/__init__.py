"""Headgate: flow control for services. Rate limits that are exact, fast, and the same everywhere.

from headgate import Limiter

limiter = Limiter("100/min")
if not limiter.take("user:42"):
    ...  # over the limit
"""

from headgate.adaptive.aimd import AIMD
from headgate.adaptive.bbr import BBR
from headgate.adaptive.gradient import Gradient
from headgate.adaptive.vegas import Vegas
from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.gcra import GCRA
from headgate.algorithms.leaky_bucket import LeakyBucket
from headgate.algorithms.limit import Limit
from headgate.algorithms.sliding_log import SlidingLog
from headgate.algorithms.sliding_window import SlidingWindow
from headgate.algorithms.token_bucket import TokenBucket
from headgate.algorithms.warm_up import WarmUp
from headgate.async_limiter import AsyncLimiter, AsyncReservation
from headgate.breakers.breaker import Breaker
from headgate.budgets.budget import Budget
from headgate.budgets.purse import Purse
from headgate.bulkheads.async_bulkhead import AsyncBulkhead
from headgate.bulkheads.bulkhead import Bulkhead
from headgate.bulkheads.fleet_slot import FleetSlot
from headgate.bulkheads.pool import Pool
from headgate.bulkheads.slot import Slot
from headgate.clock import COMPILED, Clock, ManualClock, SystemClock
from headgate.decision import Decision
from headgate.errors import (
    BreakerOpen,
    BulkheadFull,
    CannotFit,
    FundsExhausted,
    HeadgateError,
    LimitError,
    LimitExceeded,
    MissingExtra,
    PacerFull,
    PurseRefused,
    RateError,
    Refused,
    StoreMismatch,
    StoreUnavailable,
    SystemBusy,
)
from headgate.flow import Permit, Reservation
from headgate.guards.guard import guard
from headgate.guards.retry import RetryAfter, RetryBudget
from headgate.limiter import Limiter
from headgate.pacers.pacer import Pacer
from headgate.pacers.turn import Turn
from headgate.rate import Rate
from headgate.steer import Steer
from headgate.stores.leases.store import LeasedStore
from headgate.stores.memory import MemoryStore
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.store import RedisStore
from headgate.stores.shared.store import SharedStore
from headgate.system import System

__version__ = "0.1.0"

__all__ = [
    "AIMD",
    "BBR",
    "COMPILED",
    "GCRA",
    "AsyncBulkhead",
    "AsyncLimiter",
    "AsyncRedisStore",
    "AsyncReservation",
    "Breaker",
    "BreakerOpen",
    "Budget",
    "Bulkhead",
    "BulkheadFull",
    "CannotFit",
    "Clock",
    "Decision",
    "FixedWindow",
    "FleetSlot",
    "FundsExhausted",
    "Gradient",
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
    "Pacer",
    "PacerFull",
    "Permit",
    "Pool",
    "Purse",
    "PurseRefused",
    "Rate",
    "RateError",
    "RedisStore",
    "Refused",
    "Reservation",
    "RetryAfter",
    "RetryBudget",
    "SharedStore",
    "SlidingLog",
    "SlidingWindow",
    "Slot",
    "Steer",
    "StoreMismatch",
    "StoreUnavailable",
    "System",
    "SystemBusy",
    "SystemClock",
    "TokenBucket",
    "Turn",
    "Vegas",
    "WarmUp",
    "guard",
]
