"""Waiting: answers that take a while, such as those that a store far away has a part in."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from headgate.service.grpc.call import Call
from headgate.service.grpc.status import CANCELLED, Status


def wait(channel: Any, call: Call, answer: Any) -> None:
    """Answer a call when its answer is there."""
    task = asyncio.ensure_future(answer)
    call.task = task
    channel.tasks.add(task)
    task.add_done_callback(partial(hear, channel, call))


def hear(channel: Any, call: Call, task: asyncio.Future[Any]) -> None:
    """An answer is there, or there will be none."""
    channel.tasks.discard(task)
    problem = None if task.cancelled() else task.exception()
    if call.done:
        return
    if task.cancelled():
        channel.stumble(call, Status(CANCELLED, "the method was cancelled"))
    elif problem is not None:
        channel.stumble(call, problem)
    elif type(task.result()) is not bytes:
        channel.stumble(call, TypeError(f"an answer is bytes, not {task.result()!r:.100}"))
    else:
        channel.reply(call, task.result())
    channel.flush()


def dismiss(channel: Any, call: Call) -> None:
    """Tell whoever works on a call that nobody waits for it any more."""
    if call.task is not None:
        call.task.cancel()
    elif call.talker is not None:
        try:
            call.talker.cancel()
        except Exception as problem:
            channel.methods.mourn(call.head.path, problem, channel.house)
