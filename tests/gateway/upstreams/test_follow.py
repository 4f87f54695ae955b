"""Group.follow: rules change, and what is known of the servers stays."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.clock import ManualClock
from headgate.gateway.upstreams.group import Group
from headgate.gateway.upstreams.server import Server
from headgate.rules.matching.request import Request
from headgate.rules.model.upstream import Upstream
from headgate.window import FAILURE
from tests.gateway.upstreams.cable import Cable

A, B, C = "http://a.example:80", "http://b.example:80", "https://c.example:443"
ANYBODY = Request()


def group(*servers: str, **terms: Any) -> Group:
    return Group("shop", Upstream(servers, **terms), ManualClock())


def followed(old: Group, *servers: str, **terms: Any) -> Group:
    fresh = group(*servers, **terms)
    fresh.follow(old)
    return fresh


def names(group: Group) -> list[str]:
    return [server.name for server in group.servers]


def stored(server: Server) -> Cable:
    """A connection that was used, and is idle now."""
    cable = Cable()
    server.lend()
    server.keep(cable)
    return cable


def test_servers_that_stay_are_the_same_and_in_their_new_order() -> None:
    old = group(A, B)
    first, second = old.servers

    new = followed(old, C, B, A)

    assert names(new) == [C, B, A]
    assert new.servers[1:] == [second, first]


def test_servers_that_stay_keep_their_connections_and_counts() -> None:
    old = group(A, B)
    server = old.servers[0]
    cable = stored(server)
    server.busy += 1
    server.leave(server.enter(0), FAILURE, 0, 0)

    new = followed(old, A)

    [kept] = new.servers
    assert (kept.requests, kept.failures, kept.busy) == (1, 1, 1)
    assert (kept.lend(), cable.closed) == (cable, 0)


def test_a_connection_in_use_comes_back_to_the_server_that_stayed() -> None:
    old = group(A)
    old.servers[0].lend()
    cable = Cable()

    new = followed(old, A, B)
    old.servers[0].keep(cable)

    assert (new.servers[0].lend(), cable.closed) == (cable, 0)


def test_of_servers_that_go_all_connections_are_closed() -> None:
    old = group(A, B)
    gone = old.servers[1]
    idle, used = stored(gone), Cable()
    gone.busy += 1

    followed(old, A)

    assert idle.closed == 1
    gone.keep(used)
    assert used.closed == 1


@pytest.mark.parametrize(("server", "kept"), [(A, True), (C, False)])
def test_connections_under_other_terms_of_tls_are_not_taken_over(server: str, kept: bool) -> None:
    old = group(server, C if server == A else A)
    cable = stored(old.servers[0])

    new = followed(old, A, C, tls={"verify": False})

    assert (old.servers[0] in new.servers, cable.closed) == (kept, 0 if kept else 1)


def test_another_scheme_at_the_same_host_is_another_server() -> None:
    old = group("http://a.example:443")

    new = followed(old, "https://a.example:443")

    assert new.servers[0] is not old.servers[0]


def test_new_limits_hold_for_servers_that_stay() -> None:
    old = group(A, connections=9)
    old.servers[0].busy = 2

    new = followed(old, A, connections=2)

    assert new.servers[0].full
    assert not followed(new, A).servers[0].full


@pytest.mark.parametrize(("idle", "closed"), [("4s", 0), ("60s", 0), ("0s", 1)])
def test_connections_that_are_no_longer_kept_are_closed(idle: str, closed: int) -> None:
    old = group(A, idle="4s")
    cable = stored(old.servers[0])

    followed(old, A, idle=idle)

    assert cable.closed == closed


def test_an_open_breaker_stays_open_unless_its_terms_change() -> None:
    terms = {"failures": 1.0, "calls": 1}
    old = group(A, breaker=terms)
    server = old.servers[0]
    server.leave(server.enter(0), FAILURE, 0, 0)

    new = followed(old, A, breaker=terms)
    assert new.pick(ANYBODY, 0) is None
    newer = followed(new, A, breaker={**terms, "pause": "1s"})
    assert newer.pick(ANYBODY, 0) is server
    assert followed(newer, A, breaker=False).servers[0].breaker is None


def down(group: Group) -> list[bool]:
    return [server.down for server in group.servers]


def ailing(*servers: str, **terms: Any) -> Group:
    """A group whose first server is not well."""
    found = group(*servers, **terms)
    pulse = found.servers[0].pulse
    assert pulse is not None
    pulse.well = False
    found.settle()
    return found


def test_who_is_down_stays_down_under_new_terms() -> None:
    old = ailing(A, B, health="/healthz")

    new = followed(old, A, B, C, health={"path": "/up", "up": 1})

    assert down(new) == [True, False, False]
    pulse = new.servers[0].pulse
    assert pulse is not None
    assert pulse.note(good=True)


def test_who_is_no_longer_asked_is_no_longer_down() -> None:
    new = followed(ailing(A, B, health="/healthz"), A, B)

    assert (down(new), new.servers[0].pulse) == ([False, False], None)


def test_who_is_asked_for_the_first_time_is_taken_for_well() -> None:
    new = followed(group(A, B), A, B, health="/healthz")

    assert down(new) == [False, False]
    assert all(server.pulse and server.pulse.well for server in new.servers)


def test_the_last_one_that_stays_is_asked_well_or_not() -> None:
    new = followed(ailing(A, B, health="/healthz"), A, health="/healthz")

    assert new.pick(ANYBODY, 0) is new.servers[0]


def test_the_budget_stays_unless_its_terms_change() -> None:
    old = group(A)

    assert followed(old, A, B).budget is old.budget
    assert followed(old, A, retries={"budget": "10%"}).budget is not old.budget


def test_keys_stay_with_their_servers() -> None:
    terms = {"balance": "hash", "key": "header.x-user"}
    old = group(A, B, C, **terms)
    requests = [Request(headers={"x-user": str(number)}) for number in range(50)]
    homes = [old.pick(request, 0) for request in requests]

    new = followed(old, C, A, B, **terms)

    assert [new.pick(request, 0) for request in requests] == homes


def test_a_group_that_is_closed_closes_all_of_its_connections() -> None:
    servers = group(A, B)
    cables = [stored(server) for server in servers.servers]

    servers.close()

    assert [cable.closed for cable in cables] == [1, 1]
