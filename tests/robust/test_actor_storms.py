"""Actors whose workers are killed again and again while several processes call them: order, counts, every answer."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

LIMIT = 60.0
#: A call's line in the log. A process that is killed while it writes may leave the beginning of one, at the border of
#: two pages: such a line has no end, and the next one begins anew. Its call has no answer.
ROW = "\n{} {} {};"
pytestmark = pytest.mark.timeout(180)


def make_class(ray: Any, kind: str) -> Any:
    """An actor's class that notes each call that it runs, with the process that runs it."""

    class Plain:
        def __init__(self, log: str) -> None:
            self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            with open(f"{log}.pid.new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(f"{log}.pid.new", f"{log}.pid")

        def work(self, caller: int, n: int) -> tuple[int, int]:
            os.write(self.log, ROW.format(os.getpid(), caller, n).encode())
            time.sleep(0.002 if n % 7 == 0 else 0.0005)
            return caller, n

    class Coroutines(Plain):
        async def wait(self, caller: int, n: int) -> tuple[int, int]:
            import asyncio

            os.write(self.log, ROW.format(os.getpid(), caller, n).encode())
            await asyncio.sleep(0.002)
            return caller, n

    options = {"plain": {}, "threads": {"max_concurrency": 4}, "coroutines": {"max_concurrency": 8}}[kind]
    return ray.remote(Coroutines if kind == "coroutines" else Plain).options(max_restarts=-1, **options)


def storm(ray: Any, folder: Path, kind: str, retries: int, calls: int, seed: int) -> Counter[str]:
    """Calls from three processes under kills; returns what became of them."""
    log = folder / "log"
    calls *= {"plain": 1, "threads": 4, "coroutines": 2}[kind]
    actor = make_class(ray, kind).options(max_task_retries=retries).remote(str(log))
    method = "wait" if kind == "coroutines" else "work"

    def call_all(caller: int) -> list[str]:
        import eagleray

        refs = []
        for n in range(1, calls + 1):
            refs.append(getattr(actor, method).remote(caller, n))
            if n % 50 == 0:
                time.sleep(0.01)
        found = []
        for n, ref in enumerate(refs, 1):
            try:
                found.append("right" if eagleray.get(ref, timeout=LIMIT) == (caller, n) else "wrong")
            except eagleray.exceptions.ActorUnavailableError:
                found.append("unavailable")
        return found

    refs = [ray.remote(num_cpus=0)(call_all).remote(caller) for caller in (1, 2)]
    mine: list[str] = []
    thread = threading.Thread(target=lambda: mine.extend(call_all(0)))
    thread.start()
    rng = random.Random(seed)
    kills = 0
    named = folder / "log.pid"
    pid = 0
    while thread.is_alive() or ray.wait(refs, num_returns=len(refs), timeout=0)[1]:
        if not named.exists() or int(named.read_text()) == pid:
            time.sleep(0.001)
            continue
        pid = int(named.read_text())
        time.sleep(rng.uniform(0, 0.1))
        os.kill(pid, signal.SIGKILL)
        kills += 1
    thread.join()
    outcomes = [mine, *ray.get(refs, timeout=LIMIT)]
    assert kills > 3
    rows = [row[:-1] for row in log.read_text().split("\n") if row.endswith(";")]
    check_log(rows, outcomes, ordered=kind == "plain", retries=retries)
    ray.kill(actor)
    return Counter(one for many in outcomes for one in many)


def check_log(rows: list[str], outcomes: list[list[str]], *, ordered: bool, retries: int) -> None:
    """Holds what ran to what is promised."""
    runs: Counter[tuple[int, int]] = Counter()
    newest: dict[int, int] = defaultdict(int)
    last: dict[tuple[int, int], int] = defaultdict(int)
    for row in rows:
        pid, caller, n = map(int, row.split())
        runs[caller, n] += 1
        if not ordered:
            continue
        if runs[caller, n] == 1:
            assert n > newest[caller], f"call {n} of caller {caller} ran for the first time after call {newest[caller]}"
            newest[caller] = n
        assert n > last[pid, caller], f"process {pid} ran call {n} of caller {caller} after call {last[pid, caller]}"
        last[pid, caller] = n
    if retries >= 0:
        assert max(runs.values()) <= 1 + retries
    for caller, found in enumerate(outcomes):
        assert "wrong" not in found
        for n, what in enumerate(found, 1):
            assert what != "right" or runs[caller, n] >= 1
        if retries < 0:
            assert set(found) == {"right"}


@pytest.mark.parametrize("kind", ["plain", "threads", "coroutines"])
def test_every_call_has_its_answer(ray: Any, tmp_path: Path, kind: str) -> None:
    """With retries without end each call is answered right."""
    assert set(storm(ray, tmp_path, kind, -1, 200, 1)) == {"right"}


@pytest.mark.parametrize("kind", ["plain", "threads"])
def test_no_call_runs_twice(ray: Any, tmp_path: Path, kind: str) -> None:
    """Without retries each call runs once at most, and only those that had begun fail."""
    found = storm(ray, tmp_path, kind, 0, 200, 2)
    assert found["right"] > found["unavailable"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("retries", [0, 1, -1])
@pytest.mark.parametrize("kind", ["plain", "threads", "coroutines"])
def test_long_storms(ray: Any, tmp_path: Path, kind: str, retries: int, seed: int) -> None:
    storm(ray, tmp_path, kind, retries, 2000, seed)
