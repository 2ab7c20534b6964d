"""The node runs out of memory: who is ended, who is told what, and who is not concerned.

The session's memory is bounded (``EAGLERAY_memory_limit_bytes``), so that no machine has to be filled.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import eagleray
import numpy as np
import pytest
from processes import alive, until
from program import Program

LIMIT = 60.0
MIB = 2**20
BOUND = 250 * MIB
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def session(place: Path) -> Iterator[Any]:
    """A session that may have 250 MiB of memory beside the object store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EAGLERAY_memory_limit_bytes", str(BOUND))
        patch.setenv("RAY_task_oom_retry_delay_base_ms", "20")
        with eagleray.init(
            address="local", num_cpus=2, object_store_memory=1000 * MIB, _memory=4096 * MIB, log_to_driver=False
        ) as context:
            yield context


def fill(megabytes: int) -> None:
    """Takes so much memory and keeps it for long."""
    kept = bytearray(megabytes * MIB)
    time.sleep(30)
    del kept


def tries(path: str) -> int:
    """How often this was called before."""
    with open(path, "a") as file:
        file.write("x")
        return file.tell() - 1


def test_the_hungry_task_is_tried_again_and_its_neighbours_live(ray: Any, tmp_path: Path) -> None:
    """It has retries of its own: more of them than ``max_retries``."""

    @ray.remote(num_cpus=0.5, max_retries=1)
    def hungry(path: str) -> int:
        if tries(path) < 3:
            fill(320)
        return tries(path)

    @ray.remote(num_cpus=0)
    class Neighbour:
        def __init__(self) -> None:
            self.data = bytearray(30 * MIB)

        def pid(self) -> int:
            return os.getpid()

    @ray.remote(num_cpus=0.5, max_retries=0)
    def small(path: str) -> str:
        until(lambda: os.path.exists(path), LIMIT)
        return "small"

    neighbour = Neighbour.remote()
    pid = ray.get(neighbour.pid.remote(), timeout=LIMIT)
    beside = small.remote(str(tmp_path / "sign"))
    assert ray.get(hungry.remote(str(tmp_path / "tries")), timeout=LIMIT) == 4
    (tmp_path / "sign").touch()
    assert ray.get(beside, timeout=LIMIT) == "small"
    assert ray.get(neighbour.pid.remote(), timeout=LIMIT) == pid


def test_the_error_says_who_where_how_much_and_who_else(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def greedy() -> int:
        fill(320)
        return os.getpid()

    with pytest.raises(ray.exceptions.OutOfMemoryError) as caught:
        ray.get(greedy.remote(), timeout=LIMIT)
    text = str(caught.value)
    assert isinstance(caught.value, ray.exceptions.RayError)
    assert "task greedy" in text and "max_retries=0" in text
    assert ray.nodes()[0]["NodeID"] in text and ray.nodes()[0]["NodeManagerAddress"] in text
    told = re.search(r"pid (\d+), RSS ([\d.]+) MB", text)
    assert told is not None and float(told[2]) > 100, text
    assert f"\n{told[1]}\t" in text, "the process is among the largest"
    until(lambda: not alive(int(told[1])), LIMIT)


@pytest.mark.slow
def test_retries_end(program: Callable[..., Program]) -> None:
    """As often as the setting says, whatever ``max_retries`` is; the setting may be made before ``init``."""
    driver = program(
        """
        os.environ["RAY_task_oom_retries"] = "2"
        ray.init(address="local", num_cpus=1, log_to_driver=False)

        @ray.remote(max_retries=5)
        def greedy():
            say("tries")
            kept = bytearray(320 << 20)
            time.sleep(30)

        try:
            ray.get(greedy.remote())
        except ray.exceptions.OutOfMemoryError as error:
            say(str(error).splitlines()[-1])
        """,
        EAGLERAY_memory_limit_bytes=str(BOUND),
        RAY_task_oom_retry_delay_base_ms="10",
    )
    assert driver.rest() == ["It was tried 3 times (task_oom_retries=2)."]


def test_retries_with_more_memory(ray: Any, tmp_path: Path) -> None:
    """Each asks for twice as much, from what was stated or seen on; the last for all there is."""

    @ray.remote(retry_with_more_memory=True, max_retries=1)
    def grows(path: str) -> float:
        if tries(path) < 2:
            fill(320)
        return ray.get_runtime_context().get_assigned_resources()["memory"]

    stated = grows.options(memory=100 * MIB).remote(str(tmp_path / "a"))
    assert ray.get(stated, timeout=LIMIT) == 400 * MIB
    assert ray.get(grows.remote(str(tmp_path / "b")), timeout=LIMIT) in (1024 * MIB, 2048 * MIB)


@pytest.mark.slow
def test_there_is_no_more_memory_than_the_node_has(ray: Any, tmp_path: Path) -> None:
    @ray.remote(retry_with_more_memory=True, memory=1500 * MIB)
    def insatiable(path: str) -> None:
        tries(path)
        fill(320)

    with pytest.raises(ray.exceptions.OutOfMemoryError, match=rf"3 times.*memory={4096 * MIB}.*all that the node has"):
        ray.get(insatiable.remote(str(tmp_path / "c")), timeout=LIMIT)
    assert tries(str(tmp_path / "c")) == 3
    until(lambda: ray.available_resources().get("memory") == 4096 * MIB, LIMIT)


def test_more_memory_without_retries_is_refused(ray: Any) -> None:
    with pytest.raises(ValueError, match="retry_with_more_memory"):
        ray.remote(max_retries=0, retry_with_more_memory=True)(fill)
    with pytest.raises(ValueError, match="retry_with_more_memory"):
        ray.remote(retry_with_more_memory=True)(fill).options(max_retries=0).remote(1)
    with pytest.raises(TypeError, match="retry_with_more_memory"):
        ray.remote(retry_with_more_memory=2)(fill)


@pytest.mark.slow
def test_actors(ray: Any) -> None:
    """One that may restart does; callers of one that is gone are told."""

    @ray.remote(max_restarts=1)
    class Greedy:
        def pid(self) -> int:
            return os.getpid()

        def eat(self) -> None:
            fill(320)

    actor = Greedy.remote()
    pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    with pytest.raises(ray.exceptions.OutOfMemoryError, match="actor Greedy"):
        ray.get(actor.eat.remote(), timeout=LIMIT)
    assert ray.get(actor.pid.remote(), timeout=LIMIT) != pid
    with pytest.raises(ray.exceptions.OutOfMemoryError, match="actor Greedy"):
        ray.get(actor.eat.remote(), timeout=LIMIT)
    with pytest.raises(ray.exceptions.OutOfMemoryError, match="actor Greedy"):
        ray.get(actor.pid.remote(), timeout=LIMIT)


@pytest.mark.slow
def test_children_of_a_task_count(ray: Any) -> None:
    """Those that it started, too, and they end with it."""

    @ray.remote(max_retries=0)
    def parent() -> None:
        import subprocess
        import sys

        subprocess.run([sys.executable, "-c", "x = bytearray(320 << 20); import time; time.sleep(30)"], check=False)

    with pytest.raises(ray.exceptions.OutOfMemoryError, match="task parent"):
        ray.get(parent.remote(), timeout=LIMIT)


def test_the_object_store_is_nobodys_memory(ray: Any) -> None:
    """More than the bound lies in the store and is mapped by a worker and read: nobody is ended for it."""

    @ray.remote(max_retries=0)
    def reads(refs: list[Any]) -> float:
        values = ray.get(refs)
        total = sum(float(value.sum()) for value in values)
        time.sleep(0.6)  # several looks of the monitor
        return total

    count, each = 5, 100 * MIB // 8
    refs = [ray.put(np.ones(each)) for _ in range(count)]
    assert ray.get(reads.remote(refs), timeout=LIMIT) == count * each
