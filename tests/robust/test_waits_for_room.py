"""Who waits for room in a full store can be interrupted, by Ctrl-C and by `cancel`, and leaves no request behind."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pace import Calm

MB = 10**6
LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def array(megabytes: int) -> Any:
    return np.ones(megabytes * MB, np.uint8)


@pytest.fixture
def full(fresh: Any) -> Iterator[Any]:
    """A store of 80 MB whose 70 used ones cannot leave, for values in memory point there."""
    system = {"oom_grace_period_s": 600}
    fresh.init(address="local", num_cpus=2, object_store_memory=80 * MB, _system_config=system, log_to_driver=False)
    refs = [fresh.put(array(10)) for _ in range(7)]
    values = fresh.get(refs)
    yield fresh
    del values, refs


def interrupted(call: Any) -> float:
    """How long the call took to raise after Ctrl-C."""
    main = threading.main_thread().ident
    assert main is not None
    with Calm() as clock:

        def interrupt() -> None:
            clock.restart()
            signal.pthread_kill(main, signal.SIGINT)

        threading.Timer(0.3, interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            call()
        return clock()


def test_ctrl_c(full: Any) -> None:
    ray = full

    @ray.remote
    def takes(x: Any) -> int:
        return len(x)

    @ray.remote(num_cpus=0)
    class Takes:
        def __init__(self, x: Any = None) -> None:
            self.x = x

        def takes(self, x: Any) -> int:
            return len(x)

    actor = Takes.remote()
    assert ray.get(actor.takes.remote([1]), timeout=LIMIT) == 1
    for call in (
        lambda: ray.put(array(30)),
        lambda: takes.remote(array(30)),
        lambda: actor.takes.remote(array(30)),
        lambda: Takes.remote(array(30)),
    ):
        assert interrupted(call) < 1
        assert len(ray.get(ray.put(array(1)), timeout=LIMIT)) == MB, "nothing is in the way of what fits"
    assert ray.get(takes.remote(array(2)), timeout=LIMIT) == 2 * MB
    assert ray.get(actor.takes.remote(array(2)), timeout=LIMIT) == 2 * MB


def test_another_signal_does_not_end_the_wait(full: Any) -> None:
    ray = full
    came: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda *_: came.append(1))
    held = [ray.get(ray.put(array(5)))]
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGUSR2)).start()
    threading.Timer(0.5, held.clear).start()
    try:
        ref = ray.put(array(8))
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert came == [1]
    assert len(ray.get(ref, timeout=LIMIT)) == 8 * MB


def test_cancel(full: Any, tmp_path: Any) -> None:
    ray = full

    @ray.remote
    def puts(mark: Any) -> None:
        mark.touch()
        ray.put(array(30))

    @ray.remote
    def yields(mark: Any) -> Any:
        mark.touch()
        yield array(30)

    for number, task in enumerate((puts, yields)):
        mark = tmp_path / f"mark{number}"
        found = task.remote(mark)
        ref = found.completed() if task is yields else found
        deadline = time.monotonic() + LIMIT
        while not mark.exists():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert not ray.wait([ref], timeout=0.2)[0]
        ray.cancel(ref)
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(next(found) if task is yields else ref, timeout=LIMIT)
        assert ray.get(ray.remote(lambda: 1).remote(), timeout=LIMIT) == 1
        assert len(ray.get(ray.put(array(1)), timeout=LIMIT)) == MB
