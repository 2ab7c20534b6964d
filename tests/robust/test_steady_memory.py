"""What a session keeps after much work that is over: nothing that grows with it.

Live memory is compared, after a forced collection, before and after many tasks, objects, killed workers, actors and
drivers; and so are the numbers of entries in the tables of the daemon, of this driver and of a worker.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import eagleray
import numpy as np
import pytest
from processes import until
from sockets import REQUEST, hello, message

LIMIT = 60.0
JOB_START = 10
#: Tables that remember what has ended, up to a number and for a while.
REMEMBERS = {"n_ended_workers", "n_incarnations", "n_complaints", "n_head_actors", "n_head_jobs"}
#: As many as there are processes at the moment: workers come and go beside the measurement.
BY_PROCESS = {"n_class_leases", "n_leases", "n_peers", "n_serving", "n_sockets", "n_exec_callers", "n_sched_leases"}
BY_PROCESS |= {f"n_{kind}" for kind in ("workers", "clients", "owners", "pids", "tokens", "holders", "object_owners")}
BY_PROCESS |= {f"n_sched_{kind}" for kind in ("workers", "clients", "starting", "reservations")}
PROCESSES = 8
#: Bytes that the daemon keeps of a life of an actor that may restart, for two minutes after its end.
LIFE = 1500


@eagleray.remote(max_retries=0)
def plus(x: Any, y: int) -> Any:
    return x + y


@eagleray.remote(max_retries=0)
def box() -> Any:
    return [eagleray.put(np.ones(20_000))]


@eagleray.remote(max_retries=0)
def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@eagleray.remote(num_cpus=0)
class Brief:
    def add(self, x: int) -> int:
        return x + 1


@dataclass
class Amount:
    """How much work."""

    tasks: int
    objects: int
    deaths: int
    actors: int
    drivers: int


def tasks(count: int) -> None:
    for done in range(0, count, 1000):
        n = min(1000, count - done)
        assert eagleray.get([plus.remote(i, 1) for i in range(n)], timeout=LIMIT) == list(range(1, n + 1))


def objects(count: int) -> None:
    """In the arena and in the process's memory, of ours and of a worker's."""
    value, small = np.ones(20_000), np.ones(10)
    for _ in range(count // 100):
        refs = [eagleray.put(value) for _ in range(40)] + [eagleray.put(small) for _ in range(40)]
        refs += [eagleray.get(one, timeout=LIMIT)[0] for one in [box.remote() for _ in range(20)]]
        assert sum(float(eagleray.get(ref, timeout=LIMIT)[0]) for ref in refs) == 100


def deaths(count: int) -> None:
    for ref in [dies.remote() for _ in range(count)]:
        with pytest.raises(eagleray.exceptions.WorkerCrashedError):
            eagleray.get(ref, timeout=LIMIT)


def actors(count: int) -> None:
    """With and without names and restarts; some are killed."""
    for i in range(0, count, 4):
        made = [
            Brief.remote(),
            Brief.options(name=f"n{i}").remote(),
            Brief.options(max_restarts=1).remote(),
            Brief.remote(),
        ]
        assert eagleray.get(eagleray.get_actor(f"n{i}").add.remote(1), timeout=LIMIT) == 2
        assert eagleray.get([one.add.remote(i) for one in made], timeout=LIMIT) == [i + 1] * 4
        eagleray.kill(made[2], no_restart=False)
        eagleray.kill(made[3])


def drivers(count: int) -> None:
    """Join, start a job and leave without a word."""
    from eagleray._private.state import process

    path = process.require().session_dir + "/d.sock"
    for i in range(count):
        with socket.socket(socket.AF_UNIX) as made:
            made.settimeout(LIMIT)
            made.connect(path)
            made.sendall(hello("driver"))
            assert made.recv(65536)
            made.sendall(message(REQUEST, JOB_START, {"Namespace": f"job{i}", "Entrypoint": "a program"}, number=2))
            assert made.recv(65536)


def work(amount: Amount) -> None:
    tasks(amount.tasks)
    objects(amount.objects)
    deaths(amount.deaths)
    drivers(amount.drivers)
    actors(amount.actors)  # the latest events are remembered, and those of actors are the largest


def footprint(here: bool) -> dict[str, int]:
    from eagleray._private.session.api import rpc
    from eagleray._private.state import process

    gc.collect()
    found: dict[str, int] = rpc(process.require(), "footprint", {"collect": True, "here": here})
    if here:
        found["blocks"] = sys.getallocatedblocks()
    return found


@eagleray.remote(num_cpus=0)
class Worker:
    """Works as the driver does, from a worker."""

    def work(self, amount: Amount) -> None:
        work(amount)

    def measure(self) -> dict[str, int]:
        return footprint(here=True)


def settled(measure: Callable[[], dict[str, int]], before: dict[str, int], allowed: int) -> dict[str, int]:
    """Measures until tables and memory are what they were, and returns that: what comes last may still be under way.

    Raises:
        AssertionError: they are not; it names those.
    """
    grown: dict[str, tuple[int, int]] = {}
    now: dict[str, int] = {}

    def same() -> bool:
        nonlocal now, grown
        now = measure()
        counts = {name for name in now if name.startswith("n_")} - REMEMBERS
        most = {name: before[name] + PROCESSES * (name in BY_PROCESS) for name in counts}
        grown = {name: (before[name], now[name]) for name in sorted(counts) if now[name] > most[name]}
        return not grown and not wrong(before, now, allowed)

    try:
        until(same, LIMIT)
    except TimeoutError:
        raise AssertionError(f"tables grew: {grown}" if grown else wrong(before, now, allowed)) from None
    return now


@pytest.fixture
def joined(fresh: Any) -> Any:
    with fresh.init(address="local", num_cpus=2, object_store_memory=200_000_000, log_to_driver=False):
        yield fresh


def daemon() -> dict[str, int]:
    return footprint(here=False)


def driver() -> dict[str, int]:
    return footprint(here=True)


def wrong(before: dict[str, int], after: dict[str, int], allowed: int) -> str:
    """What there is more of: live memory of Go's, or objects of Python's. Empty: nothing."""
    grown = after["heap_live"] - before["heap_live"]
    allowed += LIFE * max(after.get("n_incarnations", 0) - before.get("n_incarnations", 0), 0)
    if grown >= allowed:
        return f"{grown} bytes more live: {before} {after}"
    if "blocks" in before and after["blocks"] - before["blocks"] >= allowed // 100:
        return f"{before['blocks']} blocks, {after['blocks']}"
    return ""


def holds(warm: Amount, much: Amount, allowed: int) -> None:
    """Works a little, measures, works much, and measures again: daemon, driver and a worker."""
    worker = Worker.remote()
    eagleray.get(worker.work.remote(warm), timeout=20 * LIMIT)
    work(warm)

    def inside() -> dict[str, int]:
        found: dict[str, int] = eagleray.get(worker.measure.remote(), timeout=LIMIT)
        return found

    before = inside(), driver(), daemon()
    eagleray.get(worker.work.remote(much), timeout=20 * LIMIT)
    work(much)
    for was, measure in zip(before, (inside, driver, daemon), strict=True):
        settled(measure, was, allowed)


def test_work_that_is_over_leaves_nothing(joined: Any) -> None:
    """Tasks and objects: whatever their number."""
    holds(Amount(1000, 200, 2, 4, 2), Amount(6000, 600, 0, 0, 0), 300_000)


def test_processes_that_are_gone_leave_nothing(joined: Any) -> None:
    """Workers, actors and drivers: what is remembered of them has bounds, and is small."""
    few = Amount(10, 100, 1, 4, 1)
    work(few)
    before = daemon()
    much = Amount(100, 100, 20, 20, 50)
    work(much)
    after = settled(daemon, before, 1_000_000)
    assert after["n_ended_workers"] <= 500, after
    assert after["n_incarnations"] <= 2 * (few.actors + much.actors) // 4, "more than of actors that restarted"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_days_of_work_leave_nothing(joined: Any) -> None:
    """Once what is remembered of the past is full, nothing grows any more."""
    holds(Amount(10_000, 2000, 300, 400, 600), Amount(150_000, 15_000, 1500, 1000, 250), 400_000)
