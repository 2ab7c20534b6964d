"""Crashes and hangs of a session's own processes, each in a session of its own."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from typing import Any

import pytest
from halt import halt
from processes import alive, daemon_of, marked, name, until
from program import Program

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


@pytest.mark.slow
def test_a_zygote_that_is_stopped(fresh: Any) -> None:
    """Its workers go on; and it goes with its session."""
    ray = fresh
    ray.init(address="local", num_cpus=2, log_to_driver=False)
    mark = os.environ["EAGLERAY_ROBUST_MARK"]

    @ray.remote
    def add(x: int) -> int:
        return x + 1

    assert ray.get([add.remote(i) for i in range(10)], timeout=LIMIT) == list(range(1, 11))
    (zygote,) = [pid for pid in marked(mark) if name(pid) == "eagleray-zygote"]
    halt(zygote)
    assert ray.get([add.remote(i) for i in range(10)], timeout=LIMIT) == list(range(1, 11))
    ray.shutdown()
    until(lambda: not alive(zygote), LIMIT)


def test_a_daemon_without_descriptors(fresh: Any) -> None:
    """It takes nobody in while it has none, serves those that it has, and recovers."""
    ray = fresh
    ray.init(address="local", num_cpus=2, log_to_driver=False)
    daemon = daemon_of(os.environ["EAGLERAY_ROBUST_MARK"])

    @ray.remote
    def add(x: int) -> int:
        return x + 1

    @ray.remote(num_cpus=0)
    class Actor:
        def add(self, x: int) -> int:
            return x + 1

    served = Actor.remote()
    assert ray.get([served.add.remote(1), add.remote(1)], timeout=LIMIT) == [2, 2]
    before = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{daemon}/fd")), before[1]))
    late = [Actor.remote() for _ in range(6)]
    calls = [actor.add.remote(1) for actor in late]
    ready, _ = ray.wait(calls, num_returns=6, timeout=0.5)
    assert len(ready) < 6, "there was room"
    assert ray.get([served.add.remote(i) for i in range(20)], timeout=LIMIT) == list(range(1, 21))
    value = ray.put(bytes(2_000_000))
    assert len(ray.get(value)) == 2_000_000
    resource.prlimit(daemon, resource.RLIMIT_NOFILE, before)
    assert ray.get(calls, timeout=LIMIT) == [2] * 6
    assert ray.get(add.remote(7), timeout=LIMIT) == 8
    assert ray.get(Actor.remote().add.remote(5), timeout=LIMIT) == 6


@pytest.mark.slow
def test_daemon_and_driver_killed_at_once(program: Callable[..., Program], fresh: Any, monkeypatch: Any) -> None:
    """Nobody is left to clean up: the next session removes the folder."""
    driver = program(
        """
        ray.init(address="local", num_cpus=1, log_to_driver=False)
        say(ray.get(ray.remote(lambda: "ready").remote()))
        input()
        """
    )
    driver.line()
    folder = driver.session_dir()
    members = driver.members()
    for pid in members:
        if " daemon " in members[pid] or pid == driver.pid:
            os.kill(pid, signal.SIGKILL)
    until(lambda: not driver.members(), LIMIT)
    assert folder.exists()
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(driver.folder))
    fresh.init(address="local", num_cpus=1, log_to_driver=False)
    until(lambda: not folder.exists(), LIMIT)
