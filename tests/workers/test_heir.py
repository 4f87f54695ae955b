"""A new master goes by what the file says now of workers, addresses and the admin."""

from __future__ import annotations

from tests.servers.waiting import until
from tests.workers.conftest import rules
from tests.workers.load import Load
from tests.workers.process import TOKEN, Process
from tests.workers.service import Service
from tests.workers.test_crew import get


def test_there_may_be_fewer_workers_and_more_again(service: Service) -> None:
    with Process(rules(service, 3)) as process, Load(process.port) as load:
        for before, workers in [(3, 1), (1, 2)]:
            text = process.rules.read_text()
            process.rules.write_text(text.replace(f"workers: {before}", f"workers: {workers}"))
            process.succeed()

            after = load.answers
            until(lambda: load.answers > after + 50, "answers of the new workers")  # noqa: B023
            assert [worker["up"] for worker in process.workers] == [True] * workers
            assert [get(process, "/") for _ in range(20)] == [200] * 20
    assert (load.troubles, load.stale) == ([], 0)


def test_an_address_may_become_wider(single: Process) -> None:
    """Although the one before is there until the former master has ended."""
    good = single.rules.read_text()
    single.rules.write_text(good.replace("127.0.0.1:0", f":{single.port}", 1))

    single.succeed()

    assert f"listening on http://[::]:{single.port}\n" in single.log
    assert get(single, "/") == 200


def test_nothing_is_left_of_an_admin_that_moves_or_goes(service: Service) -> None:
    near = f'admin: {{listen: "127.0.0.1:0", token: {TOKEN}}}'
    text = rules(service, 1)
    assert near in text
    with Process(text.replace(near, 'admin: "unix:FOLDER/one.sock"')) as process:
        one, other = process.folder / "one.sock", process.folder / "other.sock"
        assert one.is_socket()
        process.rules.write_text(process.rules.read_text().replace(str(one), str(other)))
        process.succeed()
        assert (one.exists(), other.is_socket()) == (False, True)

        process.rules.write_text(process.rules.read_text().replace(f'admin: "unix:{other}"', ""))
        process.succeed()

        assert not other.exists()
