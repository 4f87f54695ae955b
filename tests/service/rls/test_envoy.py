"""The service behind a real Envoy, in front of a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("hpack")
pytest.importorskip("httptools")

from tests.servers.fixtures import running
from tests.servers.waiting import until
from tests.service.rls.scene import FILE, Reply, Scene


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One Envoy for all that is asked here; each test has windows of its own."""
    yield from running(lambda: Scene(tmp_path_factory.mktemp("files")))


@pytest.fixture(autouse=True)
def later(scene: Scene) -> None:
    """The next day begins."""
    scene.write(FILE)
    scene.change()
    scene.sleep()


def test_a_request_goes_in_until_the_limit_is_reached(scene: Scene) -> None:
    found = [scene.get("/few") for _ in range(3)]

    assert [reply.status for reply in found] == [200, 200, 429]
    assert [told(reply) for reply in found] == [
        ("2, 2;w=60", "1", "60"),
        ("2, 2;w=60", "0", "60"),
        ("2, 2;w=60", "0", "60"),
    ]
    assert found[2].headers["x-envoy-ratelimited"] == "true"
    assert "x-envoy-ratelimited" not in found[1].headers


def test_each_descriptor_has_a_status(scene: Scene) -> None:
    reply = scene.get("/few", x_user="ann")

    assert told(reply) == ('2, 2;w=60, 4;w=3600;name="users"', "1", "60")


def test_what_one_descriptor_refuses_is_not_spent_elsewhere(scene: Scene) -> None:
    for _ in range(5):
        scene.get("/few", x_user="ann")

    found = [scene.get("/many", x_user="ann").status for _ in range(3)]

    assert found == [200, 200, 429]


def test_a_descriptor_that_no_file_has_goes_in(scene: Scene) -> None:
    reply = scene.get("/other")

    assert (reply.status, "x-ratelimit-limit" in reply.headers) == (200, False)


def test_headers_of_ours_reach_the_client(scene: Scene) -> None:
    scene.write(FILE, headers="true")
    scene.change()

    found = [scene.get("/few") for _ in range(3)]

    names = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after")
    assert [tuple(reply.headers.get(name) for name in names) for reply in found] == [
        ("2", "1", "60", None),
        ("2", "0", "60", None),
        ("2", "0", "60", "60"),
    ]


def test_the_call_is_in_the_log_of_envoy(scene: Scene) -> None:
    for _ in range(3):
        scene.get("/few", x_user="bob")

    mine = lambda: [one for one in scene.envoy.visits("main") if "user=bob" in str(one)]  # noqa: E731
    rows = until(lambda: mine() if len(mine()) > 2 else [], "Envoy to write its log")
    assert [(one["status"], one["flags"]) for one in rows] == [(200, "-"), (200, "-"), (429, "RL")]
    assert rows[0]["metadata"] == {
        "domain": "edge",
        "descriptors": [{"entries": ["path=/few"]}, {"entries": ["user=bob"]}],
    }


def test_new_files_hold_for_the_next_request(scene: Scene) -> None:
    before = [scene.get("/few").status for _ in range(3)]
    scene.write(FILE.replace("requests_per_unit: 2", "requests_per_unit: 1"))
    scene.change()
    after = [scene.get("/few") for _ in range(2)]

    assert before == [200, 200, 429]
    assert [reply.status for reply in after] == [200, 429]
    assert told(after[0]) == ("1, 1;w=60", "0", "60")


def test_rules_decide_where_no_file_does(scene: Scene) -> None:
    found = [scene.get("/login", "ours") for _ in range(2)]

    assert [reply.status for reply in found] == [200, 429]
    assert told(found[1]) == ('1, 1;w=60;name="login"', "0", "60")


def test_what_is_told_at_the_end_of_a_request_is_owed(scene: Scene) -> None:
    first = scene.get("/other", x_model="large")
    key = scene.service.hall.things["ratelimit"].find("edge", [("model", "large")])
    limiter = scene.service.hall.things["ratelimit"].limiter(key[0])
    until(lambda: not limiter.peek(key[1], 0), "Envoy to tell what it cost")

    assert (first.status, scene.get("/other", x_model="large").status) == (200, 429)
    assert scene.get("/other", x_model="small").status == 200


@pytest.mark.parametrize(
    ("door", "status"),
    [("dead-open", 200), ("dead-shut", 500), ("mute-open", 200), ("mute-shut", 500)],
)
def test_envoy_does_as_it_is_told_where_nobody_answers(
    scene: Scene, door: str, status: int
) -> None:
    assert [scene.get("/few", door).status for _ in range(3)] == [status] * 3


def test_a_quota_is_enforced_by_envoy(scene: Scene) -> None:
    quotas = scene.service._staff._quotas
    first = scene.get("/", "quota", x_few="q")
    until(lambda: quotas.shares, "Envoy to report")
    ask = lambda: scene.get("/", "quota", x_few="q").status  # noqa: E731
    until(lambda: ask() == 429, "Envoy to have heard of its quota, and spent it")

    assert first.status == 200
    assert scene.get("/", "quota", x_few="other").status == 200
    assert quotas.status()["usage"]["edge.few"]["allowed"] >= 1


def told(reply: Reply) -> tuple[str, ...]:
    """What Envoy tells of the limits."""
    return tuple(
        reply.headers.get(f"x-ratelimit-{word}", "") for word in ("limit", "remaining", "reset")
    )
