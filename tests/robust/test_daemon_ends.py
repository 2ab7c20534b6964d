"""The runtime's own processes end or stand still: what goes on, what is told, what is cleaned."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from halt import halt, halted
from processes import alive, marked, name, until
from program import Program

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def zygotes(members: dict[int, str]) -> list[int]:
    """The zygotes among processes."""
    return [pid for pid in members if name(pid) == "eagleray-zygote"]


def test_daemon_killed_while_the_driver_waits(program: Callable[..., Program]) -> None:
    driver = program(
        """
        ray.init(address="local", num_cpus=2, log_to_driver=False)

        @ray.remote
        def forever():
            while True:
                pass

        @ray.remote
        class Actor:
            def sleeps(self):
                time.sleep(1000)

        actor = Actor.remote()
        held = ray.put(5)
        refs = [forever.remote() for _ in range(3)] + [actor.sleeps.remote()]
        caught = []

        def wait():
            try:
                ray.wait(refs, num_returns=4)
            except BaseException as error:
                caught.append(type(error).__name__)

        waiter = threading.Thread(target=wait)
        waiter.start()
        say("ready")
        try:
            ray.get(refs)
        except ray.exceptions.LocalRayletDiedError as error:
            say("get:", error)
        waiter.join(60)
        say("wait:", *caught)
        calls = [
            lambda: ray.get(forever.remote()),
            lambda: ray.get(actor.sleeps.remote()),
            lambda: ray.put(bytes(1_000_000)),
            lambda: ray.put(1),
            lambda: Actor.remote(),
            lambda: ray.nodes(),
            lambda: ray.wait(refs),
        ]
        for number, call in enumerate(calls):
            try:
                call()
                say(number, "worked")
            except Exception as error:
                say(number, type(error).__name__, error)
        ray.shutdown()
        say("init")
        ray.init(address="local", num_cpus=1, log_to_driver=False)
        say(ray.get(ray.remote(lambda: "again").remote()))
        """
    )
    assert driver.line() == "ready"
    daemon = driver.daemon()
    until(lambda: len(driver.members()) >= 5, LIMIT)
    members = driver.members()
    os.kill(daemon, signal.SIGKILL)
    said = driver.line()
    assert said.startswith("get:") and str(daemon) in said, said
    assert driver.line() == "wait: LocalRayletDiedError"
    for number in range(7):
        said = driver.line()
        assert said.startswith(f"{number} LocalRayletDiedError"), said
    until(
        lambda: not any(alive(pid) for pid in members if pid != driver.pid),
        LIMIT,
        "workers and zygotes end",
    )
    assert driver.line() == "init"
    assert driver.line() == "again"
    assert driver.rest() == []
    assert driver.remains() == []


def test_daemon_killed_before_its_driver(program: Callable[..., Program]) -> None:
    """The driver ends without having noticed; nobody is left who could clean up but the driver itself."""
    driver = program(
        """
        ray.init(address="local", num_cpus=2, log_to_driver=False)
        say(ray.get(ray.remote(lambda: "ready").remote()))
        input()
        """
    )
    driver.line()
    daemon = driver.daemon()
    os.kill(daemon, signal.SIGKILL)
    driver.answer()
    assert driver.end() == 0
    assert driver.remains() == []


def test_zygote_killed(fresh: Any, place: Any) -> None:
    """Running workers go on; new ones come from a new zygote."""
    ray = fresh
    ray.init(address="local", num_cpus=4, log_to_driver=False)
    mark = os.environ["EAGLERAY_ROBUST_MARK"]

    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self) -> None:
            self.value = 0

        def add(self) -> int:
            self.value += 1
            return self.value

        def pid(self) -> int:
            return os.getpid()

    @ray.remote
    def busy(path: str) -> int:
        until(lambda: os.path.exists(path), LIMIT)
        return os.getpid()

    counter = Counter.remote()
    assert ray.get(counter.add.remote(), timeout=LIMIT) == 1
    sign = str(place / "sign")
    running = busy.remote(sign)
    until(lambda: len(marked(mark)) >= 4, LIMIT)  # daemon, zygote, actor, task
    for round_number in range(3):
        before = zygotes(marked(mark))
        assert before
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        until(lambda before=before: not any(map(alive, before)), LIMIT)  # type: ignore[misc]
        assert ray.get(counter.add.remote(), timeout=LIMIT) == round_number + 2
        others = [Counter.remote() for _ in range(4)]
        assert len(set(ray.get([other.pid.remote() for other in others], timeout=LIMIT))) == 4
    open(sign, "w").close()
    assert ray.get(running, timeout=LIMIT)


def test_a_stopped_worker_stops_nobody_else(fresh: Any) -> None:
    """SIGSTOP, as from a debugger or a full machine: what others ask for goes on, and so does it later."""
    ray = fresh
    ray.init(address="local", num_cpus=3, log_to_driver=False)

    @ray.remote(num_cpus=1)
    class Actor:
        def pid(self) -> int:
            return os.getpid()

        def own(self) -> Any:
            return [ray.put(7)]

    @ray.remote
    def step(x: int) -> int:
        return x + 1

    @ray.remote
    def outer(x: int) -> int:
        return ray.get(step.remote(x))

    stopped, other = Actor.remote(), Actor.remote()
    pid = ray.get(stopped.pid.remote(), timeout=LIMIT)
    (owned,) = ray.get(stopped.own.remote(), timeout=LIMIT)
    with halted(pid):
        late = [stopped.pid.remote() for _ in range(100)]
        big = stopped.pid.remote()
        assert ray.get([step.remote(i) for i in range(200)], timeout=LIMIT) == list(range(1, 201))
        assert ray.get(outer.remote(1), timeout=LIMIT) == 2
        assert ray.get(other.pid.remote(), timeout=LIMIT) != pid
        assert len(ray.get(Actor.options(num_cpus=0).remote().own.remote(), timeout=LIMIT)) == 1
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get([late[0], owned], timeout=0.2)
        assert ray.wait([late[0], owned, step.remote(0)], timeout=LIMIT)[0]
        ready, left = ray.wait(late, timeout=0)
        assert not ready and len(left) == 100
    assert ray.get([*late, big], timeout=LIMIT) == [pid] * 101
    assert ray.get(owned, timeout=LIMIT) == 7


def test_a_stopped_worker_can_be_killed(fresh: Any) -> None:
    ray = fresh
    ray.init(address="local", num_cpus=1, log_to_driver=False)

    @ray.remote
    class Actor:
        def pid(self) -> int:
            return os.getpid()

    actor = Actor.remote()
    pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    halt(pid)
    late = actor.pid.remote()
    ray.kill(actor)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(late, timeout=LIMIT)
    until(lambda: not alive(pid), LIMIT)


def test_a_worker_that_reads_nothing_stops_nobody(fresh: Any) -> None:
    """Megabytes of calls wait for it: they must not fill the driver's way to others, or block ``remote``."""
    ray = fresh
    ray.init(address="local", num_cpus=2, log_to_driver=False)

    @ray.remote
    class Actor:
        def pid(self) -> int:
            return os.getpid()

        def size(self, data: bytes) -> int:
            return len(data)

    deaf, other = Actor.remote(), Actor.remote()
    pid, _ = ray.get([deaf.pid.remote(), other.pid.remote()], timeout=LIMIT)
    with halted(pid):
        late = [deaf.size.remote(bytes(90_000)) for _ in range(200)]  # blocks for ever if it waits for the reader
        assert ray.get([other.size.remote(bytes(90_000)) for _ in range(100)], timeout=LIMIT) == [90_000] * 100
    assert ray.get(late, timeout=LIMIT) == [90_000] * 200
