"""How often tasks run while their workers are killed at any point: never more often than they may; none is lost."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from processes import MARK, marked, name

LIMIT = 100.0
pytestmark = pytest.mark.timeout(180)


class Killer:
    """Kills a random worker now and then, at a moment that nobody chose."""

    def __init__(self, seed: int, every: float) -> None:
        self.chance = random.Random(seed)
        self.every = every
        self.killed = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> Killer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def run(self) -> None:
        while not self.over.wait(self.every * (0.5 + self.chance.random())):
            workers = [pid for pid in marked(os.environ[MARK]) if name(pid) == "eagleray-worker"]
            if workers:
                try:
                    os.kill(self.chance.choice(workers), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    continue


def counted(folder: Path) -> Counter[str]:
    """How often each task noted that it runs."""
    return Counter(line for path in folder.iterdir() for line in path.read_text().split())


def run_counted(ray: Any, folder: Path, tasks: int, seed: int) -> None:
    """Tasks of each number of retries, some quick, some not, with a killer beside them."""

    @ray.remote(num_cpus=0.5)
    def task(folder: str, label: str, seconds: float) -> str:
        file = os.open(f"{folder}/{os.getpid()}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{label}\n".encode())
        os.close(file)
        if seconds:
            time.sleep(seconds)
        return label

    crashed = Counter[int]()
    with Killer(seed, 0.03) as killer:
        refs = [
            (retries, f"{retries}:{index}", task.options(max_retries=retries))
            for index in range(tasks)
            for retries in (0, 1, 3, -1)
        ]
        chance = random.Random(seed)
        started = [
            (retries, label, call.remote(str(folder), label, 0.02 if chance.random() < 0.02 else 0))
            for retries, label, call in refs
        ]
        for retries, label, ref in started:
            try:
                assert ray.get(ref, timeout=LIMIT) == label
            except ray.exceptions.WorkerCrashedError:
                crashed[retries] += 1
    runs = counted(folder)
    assert killer.killed > 3
    assert crashed[-1] == 0
    for retries, label, ref in started:
        assert retries == -1 or runs[label] <= retries + 1, f"{label} ran {runs[label]} times"
        if ray.wait([ref], timeout=0)[0] and label not in runs:
            with pytest.raises(ray.exceptions.WorkerCrashedError):
                ray.get(ref)


def test_no_task_runs_too_often(ray: Any, tmp_path: Path) -> None:
    run_counted(ray, tmp_path, 1000, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_task_runs_too_often_for_long(ray: Any, tmp_path: Path, seed: int) -> None:
    run_counted(ray, tmp_path, 10_000, seed)


def test_what_waited_behind_a_crash_has_lost_no_retry(ray: Any, tmp_path: Path) -> None:
    """Quick tasks share workers: of those that were sent and had not begun none is failed.

    A task that had ended may fail: its answer is lost when it waits for others to share a write.
    """

    @ray.remote(max_retries=0)
    def quick(i: int) -> int:
        with open(tmp_path / str(os.getpid()), "ab", buffering=0) as begun:
            begun.write(b"%d\n" % i)
        if i % 100 == 50:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    ray.get([quick.remote(0) for _ in range(500)], timeout=LIMIT)  # deep pipelines
    refs = [quick.remote(i) for i in range(1000)]
    failed = []
    for i, ref in enumerate(refs):
        try:
            assert ray.get(ref, timeout=LIMIT) == i
        except ray.exceptions.WorkerCrashedError:
            failed.append(i)
    begun = {int(line) for file in tmp_path.iterdir() for line in file.read_text().split()}
    assert set(range(50, 1000, 100)) <= set(failed) <= begun


def test_answers_that_are_lost_with_a_worker_count_as_runs(ray: Any, tmp_path: Path) -> None:
    """Quick tasks answer together. Those that ran just before another one's crash have used a run."""

    @ray.remote(max_retries=1)
    def quick(path: str, i: int) -> int:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{i}\n".encode())
        os.close(file)
        if i % 4 == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    path = tmp_path / "runs"
    ray.get([quick.remote(str(path), 0) for _ in range(2000)], timeout=LIMIT)  # deep pipelines
    path.unlink()
    refs = [quick.remote(str(path), i) for i in range(120)]
    for i, ref in enumerate(refs):
        try:
            assert ray.get(ref, timeout=LIMIT) == i
        except ray.exceptions.WorkerCrashedError:
            continue
    runs = Counter(map(int, path.read_text().split()))
    assert len(runs) == 120
    assert max(runs.values()) <= 2, runs
