"""The memory monitor in a control group with a limit, and on a machine that a folder of files pretends to be."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import alive, until
from program import Program

LIMIT = 60.0
MIB = 2**20
pytestmark = pytest.mark.timeout(300)


def memory_folder() -> Path | None:
    """Where this process's control groups for memory are, if they can be made."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return Path("/sys/fs/cgroup/memory" + path)
        if not controllers and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            return Path("/sys/fs/cgroup" + path)
    return None


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of 500 MiB below this process's own."""
    above = memory_folder()
    folder = above / f"eagleray-{secrets.token_hex(4)}" if above is not None else Path("/")
    try:
        folder.mkdir()
        limits = [folder / name for name in ("memory.max", "memory.limit_in_bytes") if (folder / name).exists()]
        limits[0].write_text(str(500 * MIB))
        with contextlib.suppress(OSError):
            (folder / "memory.swap.max").write_text("0")
    except (OSError, IndexError) as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no control group with a limit of memory can be made here: {error}")
    yield folder

    def removed() -> bool:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return not folder.exists()

    until(removed, LIMIT, "the group is left by all")


IN_GROUP = """
with open(os.environ["GROUP"] + "/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))
ray.init(address="local", num_cpus=2, log_to_driver=False, object_store_memory=250 << 20)

@ray.remote(max_retries=0)
def greedy():
    kept = []
    for _ in range(200):  # not at once: the kernel is quick where there is little room
        kept.append(bytearray(4 << 20))
        time.sleep(0.005)
    time.sleep(30)

@ray.remote(max_retries=0)
def small(values):
    time.sleep(0.7)
    return len(values)

def told(ref):
    try:
        say(ray.get(ref))
    except ray.exceptions.OutOfMemoryError as error:
        say(str(error).splitlines()[0])
"""


@pytest.mark.slow
def test_in_a_group_anonymous_memory_counts_alone(program: Callable[..., Program], group: Path, tmp_path: Path) -> None:
    """Objects and a file's pages fill most of the group, and nobody is ended; then a task takes the rest."""
    driver = program(
        IN_GROUP,
        """
        kept = ray.put(bytes(200 << 20))
        with open(os.environ["FILE"], "wb") as file:
            for _ in range(300):
                file.write(bytes(1 << 20))
        told(small.remote("abc"))
        told(greedy.remote())
        told(small.remote("abcd"))
        """,
        GROUP=str(group),
        FILE=str(tmp_path / "file"),
    )
    said = driver.rest()
    (tmp_path / "file").unlink()
    assert said[0] == "3" and said[2] == "4"
    assert "task greedy" in said[1] and group.name in said[1] and "memory_usage_threshold" in said[1]


@pytest.mark.slow
def test_the_kernels_own_kill_is_told(program: Callable[..., Program], group: Path) -> None:
    """Without the monitor the kernel ends the worker, not the daemon or the driver, and the error says so."""
    driver = program(
        IN_GROUP,
        "told(greedy.remote())",
        "told(small.remote('abcd'))",
        GROUP=str(group),
        RAY_memory_monitor_refresh_ms="0",
    )
    killed, went_on = driver.rest()
    assert "task greedy" in killed and "SIGKILL" in killed and "kernel" in killed and "memory" in killed
    assert went_on == "4"


def meminfo(folder: Path, anonymous: int) -> None:
    """Says how many MiB of 1000 are anonymous; as much again is cached, and can be had."""
    (folder / "proc").mkdir(parents=True, exist_ok=True)
    fresh = folder / "proc" / "fresh"
    fresh.write_text(
        f"MemTotal: {1000 << 10} kB\nMemAvailable: {1000 - anonymous << 10} kB\nCached: {900 << 10} kB\n"
        f"Shmem: 0 kB\nAnonPages: {anonymous << 10} kB\n"
    )
    fresh.replace(folder / "proc" / "meminfo")


def test_the_newest_of_the_largest_group(
    fresh: Any, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three run one function and two another; one is ended at a time, while memory is short."""
    ray, root = fresh, tmp_path / "machine"
    meminfo(root, 900)
    monkeypatch.setenv("EAGLERAY_MEMORY_ROOT", str(root))
    monkeypatch.setenv("RAY_task_oom_retry_delay_base_ms", "1")
    ray.init(address="local", num_cpus=5, log_to_driver=False)
    starts = tmp_path / "starts"
    starts.mkdir()

    @ray.remote
    def one_of_three(sign: str) -> int:
        (starts / f"three-{os.getpid()}").touch()
        until(lambda: os.path.exists(sign), LIMIT)
        return os.getpid()

    @ray.remote
    def one_of_two(sign: str) -> int:
        (starts / f"two-{os.getpid()}").touch()
        until(lambda: os.path.exists(sign), LIMIT)
        return os.getpid()

    sign = str(tmp_path / "sign")
    refs, pids = [], []
    for task in (one_of_three, one_of_two, one_of_three, one_of_three, one_of_two):
        before = {path.name for path in starts.iterdir()}
        refs.append(task.remote(sign))
        until(lambda before=before: len(list(starts.iterdir())) > len(before), LIMIT)  # type: ignore[misc]
        (new,) = {path.name for path in starts.iterdir()} - before
        pids.append(int(new.partition("-")[2]))
        time.sleep(0.02)
    assert all(map(alive, pids))
    meminfo(root, 990)
    until(lambda: not all(map(alive, pids)), LIMIT)
    meminfo(root, 900)
    assert [pid for pid in pids if not alive(pid)] == [pids[3]], "the newest of three"
    Path(sign).touch()
    found = ray.get(refs, timeout=LIMIT)
    assert found[:3] + found[4:] == pids[:3] + pids[4:] and found[3] != pids[3]


@pytest.mark.parametrize(
    ("name", "value"), [("RAY_memory_usage_threshold", "95"), ("RAY_memory_monitor_refresh_ms", "often")]
)
def test_settings_that_are_wrong(fresh: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=name):
        fresh.init(address="local", num_cpus=1)
