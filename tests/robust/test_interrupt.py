"""Ctrl-C: it ends the driver's wait at once, reaches no worker, and leaves a session that works."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest
from pace import Calm
from program import Program

pytestmark = pytest.mark.timeout(300)

START = """
    import asyncio
    ray.init(address="local", num_cpus=2, log_to_driver=False)

    @ray.remote
    def counts(folder, driver):
        got = []
        signal.signal(signal.SIGINT, lambda *_: got.append(1))
        deadline = time.monotonic() + 60
        while not os.path.exists(folder + "/go") and time.monotonic() < deadline:
            time.sleep(0.01)
        return len(got), os.getpgid(0) != driver

    @ray.remote(num_cpus=0)
    class Actor:
        def sleeps(self):
            time.sleep(1000)

        def nests(self, refs):
            return ray.get(refs[0])

    async def awaits(ref):
        await ref

    def interrupted(call):
        say("blocks")
        try:
            call()
        except KeyboardInterrupt:
            say("caught")

    folder = os.path.dirname(os.path.abspath(__file__))
    here = folder, os.getpid()
"""

BLOCKED = {
    "get of a task": "ray.get(task)",
    "get of a list": "ray.get([task, call, ray.put(1)])",
    "get with a timeout": "ray.get(task, timeout=60)",
    "get of an actor's call": "ray.get(call)",
    "get of what another owns": "ray.get(inner)",
    "wait": "ray.wait([task, call], num_returns=2)",
    "wait with a timeout": "ray.wait([task, call], num_returns=2, timeout=60)",
    "future": "task.future().result()",
    "loop": "asyncio.run(awaits(task))",
}


def test_a_blocked_call(program: Callable[..., Program]) -> None:
    driver = program(
        START,
        """
        task = counts.remote(*here)
        actor = Actor.remote()
        call = actor.sleeps.remote()

        @ray.remote(num_cpus=0)
        def passes():
            return [actor.sleeps.remote()]

        (inner,) = ray.get(passes.remote())
        say("ready")
        """,
        *(f"interrupted(lambda: {call})\nassert ray.get(ray.put(3)) == 3" for call in BLOCKED.values()),
        """
        open(folder + "/go", "w").close()
        say(*ray.get(task))
        say(ray.get([counts.remote(*here) for _ in range(4)]))
        """,
    )
    assert driver.line() == "ready"
    took = {}
    with Calm() as clock:
        for name in BLOCKED:
            assert driver.line() == "blocks"
            time.sleep(0.15)  # nothing tells from outside that it has begun to block
            clock.restart()
            driver.interrupt()
            assert driver.line() == "caught"
            took[name] = clock()
    assert statistics.median(took.values()) <= 0.3 and max(took.values()) < 1, took
    assert driver.line() == "0 True"
    assert driver.line() == "[(0, True), (0, True), (0, True), (0, True)]"
    assert driver.rest() == []
    assert driver.remains() == []


def test_while_tasks_stream(program: Callable[..., Program]) -> None:
    """At any point of submitting and getting; what is asked afterwards is answered."""
    driver = program(
        START,
        """
        @ray.remote
        def double(x):
            return 2 * x

        for round_number in range(12):
            try:
                say("blocks")
                while True:
                    refs = [double.remote(i) for i in range(500)]
                    assert ray.get(refs) == list(range(0, 1000, 2))
                    ray.get([ray.put(bytes(200_000)), double.remote(1)])
            except KeyboardInterrupt:
                pass
            assert ray.get([double.remote(i) for i in range(100)]) == list(range(0, 200, 2))
        say("done")
        """,
    )
    for number in range(12):
        assert driver.line() == "blocks"
        time.sleep(0.03 + 0.007 * number)
        driver.interrupt()
    assert driver.line() == "done"
    assert driver.rest() == []
    assert driver.remains() == []


def test_an_interrupt_that_nobody_catches_ends_the_session(program: Callable[..., Program]) -> None:
    driver = program(START, "refs = [counts.remote(*here) for _ in range(4)]", "say('ready')", "ray.get(refs)")
    assert driver.line() == "ready"
    time.sleep(0.15)
    driver.interrupt()
    assert driver.end() in (-2, 130)
    assert "KeyboardInterrupt" in driver.errors()
    assert driver.remains() == []


def test_an_interrupt_while_the_session_starts(program: Callable[..., Program]) -> None:
    for delay in (0.02, 0.05, 0.1, 0.15):
        driver = program(
            """
            try:
                say("begins")
                while True:
                    with ray.init(address="local", num_cpus=1, log_to_driver=False):
                        pass
            except KeyboardInterrupt:
                ray.shutdown()
            with ray.init(address="local", num_cpus=1, log_to_driver=False):
                say(ray.get(ray.remote(lambda: "works").remote()))
            """
        )
        assert driver.line() == "begins"
        time.sleep(delay)
        driver.interrupt()
        assert driver.line() == "works"
        assert driver.rest() == []
        assert driver.remains() == []
