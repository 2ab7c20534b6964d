"""Processes that user code forks, in tasks and in the driver."""

from __future__ import annotations

import concurrent.futures
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from processes import alive, until

LIMIT = 60.0
pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")]


def in_child(work: Callable[[], str]) -> str:
    """Runs the work in a fork of this process and returns what it says: an exception, too."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            try:
                said = work()
            except BaseException as error:
                said = f"{type(error).__name__}: {error}" if str(error) else traceback.format_exc()
            os.write(write, said.encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, LIMIT, "the child's end")
    return said


def negate(x: int) -> int:
    return -x


def test_pools_in_a_task(ray: Any) -> None:
    @ray.remote
    def pools(method: str) -> Any:
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            first = pool.map(abs, [-1, -2, 3])
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
            return first, list(executor.map(abs, [-4, 5]))

    for method in ("fork", "spawn", "forkserver"):
        assert ray.get(pools.remote(method), timeout=LIMIT) == ([1, 2, 3], [4, 5]), method


def test_fork_in_a_task(ray: Any) -> None:
    @ray.remote
    def forks(data: Any) -> list[int]:
        codes = []
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                os._exit(int(data.sum()) % 100)  # the view stays readable
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        return codes

    data = ray.put(np.ones(1_000_042))
    assert ray.get([forks.remote(data) for _ in range(4)], timeout=LIMIT) == [[42] * 5] * 4


def test_a_fork_in_a_task_cannot_use_the_session(ray: Any) -> None:
    @ray.remote
    def forks(box: list[Any]) -> str:
        return in_child(lambda: str(ray.get(box[0])))

    said = ray.get(forks.remote([ray.put(1)]), timeout=LIMIT)
    assert "fork" in said and "Error" in said, said


def test_a_child_that_stays_does_not_hold_the_task_up(ray: Any) -> None:
    """It has copies of the worker's sockets: their end must be told by the process's end, not by theirs."""

    @ray.remote(max_retries=0)
    def leaves(end: bool) -> int:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            while True:
                time.sleep(60)
        if end:
            os._exit(1)
        return pid

    pid = ray.get(leaves.remote(False), timeout=LIMIT)
    assert alive(pid)
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(leaves.remote(True), timeout=LIMIT)
    os.kill(pid, 9)


def test_a_child_that_stays_does_not_hide_the_end_of_an_actor(ray: Any) -> None:
    @ray.remote
    class Actor:
        def leave(self) -> int:
            pid = os.fork()
            if pid == 0:
                os.setsid()
                while True:
                    time.sleep(60)
            return pid

        def die(self) -> None:
            os._exit(1)

    actor = Actor.remote()
    pid = ray.get(actor.leave.remote(), timeout=LIMIT)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.die.remote(), timeout=LIMIT)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.leave.remote(), timeout=LIMIT)
    if alive(pid):
        os.kill(pid, 9)


def test_a_child_of_the_driver_is_told(ray: Any) -> None:
    @ray.remote
    def one() -> int:
        return 1

    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

    ref, actor = ray.put(5), Actor.remote()
    assert ray.get(actor.one.remote(), timeout=LIMIT) == 1
    uses: dict[str, Callable[[], Any]] = {
        "get": lambda: ray.get(ref),
        "put": lambda: ray.put(1),
        "wait": lambda: ray.wait([ref]),
        "task": lambda: one.remote(),
        "method": lambda: actor.one.remote(),
        "actor": lambda: Actor.remote(),
        "init": lambda: ray.init(address="local"),
        "nodes": lambda: ray.nodes(),
        "kill": lambda: ray.kill(actor),
    }
    for name, use in uses.items():
        said = in_child(lambda use=use: f"worked: {use()}")  # type: ignore[misc]
        assert "fork" in said and "Error" in said, f"{name}: {said}"
    assert ray.get([ref, one.remote(), actor.one.remote()], timeout=LIMIT) == [5, 1, 1]


def test_a_child_of_the_driver_reads_views_and_drops_references(ray: Any) -> None:
    refs = [ray.put(np.full(100_000, i)) for i in range(20)]
    views = ray.get(refs)

    def work() -> str:
        total = sum(int(view[0]) for view in views)
        refs.clear()
        views.clear()
        gc.collect()
        return str(total)

    for _ in range(3):
        assert in_child(work) == "190"
    gc.collect()
    assert [int(view[-1]) for view in ray.get(refs, timeout=LIMIT)] == list(range(20))


def test_a_driver_forks_while_threads_wait(ray: Any) -> None:
    """The child inherits locks that other threads hold at that moment: it must end all the same."""

    @ray.remote
    def one(x: int) -> int:
        return x

    stop = threading.Event()
    wrong: list[Any] = []

    def work() -> None:
        try:
            while not stop.is_set():
                assert ray.get([one.remote(i) for i in range(20)], timeout=LIMIT) == list(range(20))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_child(lambda: str(gc.collect() >= 0)) == "True"
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(negate, range(10)) == [-x for x in range(10)]
    finally:
        stop.set()
        for thread in threads:
            thread.join(LIMIT)
    assert wrong == []


def test_subprocesses_of_a_task(ray: Any) -> None:
    @ray.remote
    def runs() -> str:
        return subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True).stdout

    assert ray.get([runs.remote() for _ in range(4)], timeout=LIMIT) == ["42\n"] * 4
