"""Real sentinels: they name the primary, and name another when it is gone."""

from __future__ import annotations

from tests.servers.sentinels import Sentinels, port, table


def test_every_sentinel_names_the_primary_and_knows_all_others(sentinels: Sentinels) -> None:
    seen = [table(one.ask("SENTINEL", "MASTER", sentinels.service)) for one in sentinels.sentinels]

    assert [one["port"] for one in seen] == [str(sentinels.servers[0].port)] * 3
    assert [(one["num-slaves"], one["num-other-sentinels"]) for one in seen] == [("1", "2")] * 3
    assert sentinels.primary() is sentinels.servers[0]


def test_the_replica_has_what_the_primary_was_told(sentinels: Sentinels) -> None:
    with sentinels.primary().wire() as wire:
        wire.ask("SET", "key", "value")
        copies = wire.ask("WAIT", 1, 5000)

    assert (copies, sentinels.replica().ask("GET", "key")) == (1, "value")


def test_a_killed_primary_is_succeeded_and_the_healed_are_as_they_were_formed(
    sentinels: Sentinels,
) -> None:
    first, second = sentinels.servers

    killed = sentinels.kill_primary()
    sentinels.settle()
    named = [port(sentinel) for sentinel in sentinels.sentinels]
    written = second.ask("SET", "key", "value")
    sentinels.heal()

    assert (killed, named, written) == (first, [second.port] * 3, "OK")
    assert (sentinels.primary(), first.ask("DBSIZE")) == (first, 0)
    assert all(sentinels.ready(sentinel) for sentinel in sentinels.sentinels)


def test_those_who_need_no_healing_are_not_started_again(sentinels: Sentinels) -> None:
    everybody = [*sentinels.servers, *sentinels.sentinels]
    numbers = [one.pid for one in everybody]
    sentinels.primary().ask("SET", "key", "value")

    sentinels.heal()

    assert sentinels.primary().ask("DBSIZE") == 0
    assert [one.pid for one in everybody] == numbers
