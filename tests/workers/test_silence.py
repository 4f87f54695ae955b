"""A worker that hangs does not count as one that serves; one that is merely slow is let be."""

from __future__ import annotations

import os
import signal

from tests.servers.waiting import until
from tests.workers.conftest import rules
from tests.workers.process import Process
from tests.workers.service import Service
from tests.workers.test_crew import get

# A gateway with less patience.
HASTY = """\
import headgate.workers.crew as crew
from headgate.cli.main import main
crew.{} = {}
main()
"""


def test_a_worker_that_hangs_has_not_read_the_rules_and_is_not_killed_for_it(
    service: Service,
) -> None:
    text = rules(service, 2)
    with Process(text, "--watch", "0", start=("-c", HASTY.format("READING", 1.5))) as process:
        pids = [worker["pid"] for worker in process.workers]
        process.rules.write_text(process.rules.read_text().replace("100/min", "300/min"))
        os.kill(pids[1], signal.SIGSTOP)
        try:
            said = process.ask("POST /reload")
        finally:
            os.kill(pids[1], signal.SIGCONT)

        problem = f"worker {pids[1]} did not answer"
        assert (said.status, said.body["problems"]) == (422, [problem])
        assert f"ERROR rules were not read by all:\n    {problem}\n" in process.log
        assert "were read again" not in process.log
        until(lambda: agreed(process), "the other to have read them, too")
        assert [worker["pid"] for worker in process.workers] == pids


def test_workers_that_hang_for_good_are_replaced(service: Service) -> None:
    with Process(rules(service, 2), start=("-c", HASTY.format("ROUND", 0.3))) as process:
        pids = [worker["pid"] for worker in process.workers]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

        until(lambda: replaced(process, pids), "others in their places")

        assert get(process, "/") == 200
        for pid in pids:
            assert f"worker {pid} has not answered for 1.8 s and is killed" in process.log


def replaced(process: Process, pids: list[int]) -> bool:
    """Whether others than these serve in all places."""
    found = [worker["pid"] for worker in process.workers if worker["up"]]
    return len(found) == len(pids) and {*found}.isdisjoint(pids)


def agreed(process: Process) -> bool:
    """Whether all workers go by the same rules."""
    versions = [worker.get("version", "") for worker in process.workers]
    return len(set(versions)) == 1 and "" not in versions
