"""Processes that die at work: what is tried again, what is told, and who is not concerned."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arena import BIG, settles
from processes import alive, marked, name, until

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def segfault() -> None:
    """Reads where nothing is."""
    import ctypes

    ctypes.string_at(0)


DEATHS: dict[str, Callable[[], Any]] = {
    "exits": lambda: os._exit(3),
    "exits with 0": lambda: os._exit(0),
    "segfault": segfault,
    "aborts": os.abort,
    "kill -9": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
}
#: How the message says it.
TOLD = {
    "exits": "code 3",
    "exits with 0": "code 0",
    "segfault": "SIGSEGV",
    "aborts": "SIGABRT",
    "kill -9": "SIGKILL",
    "SIGTERM": "SIGTERM",
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_task_that_kills_its_worker(ray: Any, tmp_path: Path, death: str) -> None:
    """It is tried as often as it may be; then the error says how the worker ended."""
    dies = DEATHS[death]

    @ray.remote
    def task(folder: str, sure: bool) -> str:
        tries = len(os.listdir(folder))
        Path(folder, str(tries)).touch()
        if sure or tries < 2:
            dies()
            time.sleep(10)
        return f"after {tries}"

    folders = [tmp_path / part for part in "abcd"]
    for folder in folders:
        folder.mkdir()
    never, always, once, luck = (str(folder) for folder in folders)
    with pytest.raises(ray.exceptions.WorkerCrashedError, match=TOLD[death]):
        ray.get(task.options(max_retries=0).remote(never, True), timeout=LIMIT)
    with pytest.raises(ray.exceptions.WorkerCrashedError, match=TOLD[death]):
        ray.get(task.remote(always, True), timeout=LIMIT)
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(task.options(max_retries=1).remote(once, True), timeout=LIMIT)
    assert ray.get(task.remote(luck, False), timeout=LIMIT) == "after 2"
    assert [len(os.listdir(folder)) for folder in folders] == [1, 4, 2, 3]


def test_those_behind_it_are_not_concerned(ray: Any) -> None:
    """Tasks that may not run twice wait in the same worker: they have not begun, so they run elsewhere."""

    @ray.remote(max_retries=0)
    def step(i: int) -> int:
        if i == 150:
            os._exit(1)
        return i

    ray.get([step.remote(-1) for _ in range(200)], timeout=LIMIT)  # deep pipelines
    refs = [step.remote(i) for i in range(400)]
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(refs[150], timeout=LIMIT)
    del refs[150]
    assert ray.get(refs, timeout=LIMIT) == [i for i in range(400) if i != 150]


def test_a_storm_of_deaths(ray: Any) -> None:
    chance = random.Random(5)

    @ray.remote(max_retries=-1)
    def task(i: int, seed: float) -> int:
        if random.Random(seed + time.time_ns()).random() < 0.05:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    assert ray.get([task.remote(i, chance.random()) for i in range(300)], timeout=LIMIT) == list(range(300))


def test_workers_killed_from_outside(ray: Any) -> None:
    """Idle ones, busy ones, those just being given work."""

    @ray.remote(max_retries=-1)
    def task(i: int) -> int:
        time.sleep(0.002)
        return i

    for round_number in range(8):
        refs = [task.remote(i) for i in range(60)]
        for _ in range(3):
            workers = [pid for pid in marked(os.environ["EAGLERAY_ROBUST_MARK"]) if name(pid) == "eagleray-worker"]
            for pid in workers[:: 1 + round_number % 2]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        assert ray.get(refs, timeout=LIMIT) == list(range(60))


def test_a_worker_dies_with_objects_in_its_hands(ray: Any) -> None:
    """Views of arguments, a result half written: the store forgets them."""

    @ray.remote(max_retries=0)
    def reads(value: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL) if value[0] == 1 else None

    @ray.remote(max_retries=0)
    def writes(refs: Any) -> Any:
        kept = [ray.get(refs[0]), ray.put(np.ones(BIG))]
        os.kill(os.getpid(), signal.SIGKILL) if kept else None

    value = ray.put(np.ones(BIG))
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(reads.remote(value), timeout=LIMIT)
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(writes.remote([value]), timeout=LIMIT)
    settles(objects=1)
    del value
    settles(objects=0)


@pytest.mark.parametrize("death", DEATHS)
def test_an_actor_that_dies(ray: Any, death: str) -> None:
    dies = DEATHS[death]

    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.value = 0

        def add(self) -> int:
            self.value += 1
            return self.value

        def die(self) -> None:
            dies()
            time.sleep(10)

    actor = Actor.remote()
    before = [actor.add.remote() for _ in range(20)]
    fatal = actor.die.remote()
    after = [actor.add.remote() for _ in range(20)]
    assert ray.get(before, timeout=LIMIT) == list(range(1, 21))
    for ref in (fatal, after[0], after[-1], actor.add.remote()):
        with pytest.raises(ray.exceptions.ActorDiedError, match="Actor") as caught:
            ray.get(ref, timeout=LIMIT)
        assert TOLD[death] in str(caught.value)


def test_an_actor_with_restarts(ray: Any) -> None:
    @ray.remote(max_restarts=2)
    class Actor:
        def __init__(self, start: int) -> None:
            self.value = start

        def add(self) -> int:
            self.value += 1
            return self.value

        def die(self) -> None:
            os._exit(1)

    actor = Actor.remote(10)
    for _ in range(2):
        assert ray.get([actor.add.remote() for _ in range(3)], timeout=LIMIT) == [11, 12, 13]
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(actor.die.remote(), timeout=LIMIT)
    assert ray.get(actor.add.remote(), timeout=LIMIT) == 11
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.die.remote(), timeout=LIMIT)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.add.remote(), timeout=LIMIT)


def test_an_actor_that_is_killed_again_and_again(ray: Any) -> None:
    @ray.remote(max_restarts=-1)
    class Actor:
        def pid(self) -> int:
            return os.getpid()

    actor = Actor.remote()
    seen = set()
    for _ in range(6):
        pid = ray.get(actor.pid.remote(), timeout=LIMIT)
        seen.add(pid)
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: not alive(pid), LIMIT)  # type: ignore[misc]

        def works() -> bool:
            try:
                return ray.get(actor.pid.remote(), timeout=LIMIT) > 0
            except ray.exceptions.ActorUnavailableError:  # the call met the dying one
                return False

        until(works, LIMIT)
    assert len(seen) == 6


@pytest.mark.parametrize("death", ["exits", "segfault", "kill -9"])
def test_an_actor_that_dies_in_its_constructor(ray: Any, death: str) -> None:
    dies = DEATHS[death]

    @ray.remote
    class Actor:
        def __init__(self) -> None:
            dies()
            time.sleep(10)

        def add(self) -> None: ...

    actor = Actor.remote()
    with pytest.raises(ray.exceptions.ActorDiedError, match=TOLD[death]):
        ray.get(actor.add.remote(), timeout=LIMIT)


def test_an_actor_with_many_callers_dies(ray: Any) -> None:
    """Each of them is told."""

    @ray.remote(num_cpus=0)
    class Actor:
        def hold(self) -> None:
            time.sleep(1000)

        def pid(self) -> int:
            return os.getpid()

    @ray.remote(num_cpus=0)
    def caller(actor: Any) -> str:
        try:
            ray.get(actor.hold.remote())
        except ray.exceptions.ActorDiedError:
            return "told"
        return "not told"

    actor = Actor.remote()
    pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    found = [caller.remote(actor) for _ in range(6)]
    assert not ray.wait(found, timeout=1)[0]
    os.kill(pid, signal.SIGKILL)
    assert ray.get(found, timeout=LIMIT) == ["told"] * 6
