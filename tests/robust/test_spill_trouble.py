"""Disks that are full, directories that cannot be used, and what a killed daemon leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import Program

MB = 10**6
STORE = 80 * MB
LIMIT = 60.0


def numbers(seed: int, size: int) -> Any:
    """So many bytes of random whole numbers."""
    return np.random.Generator(np.random.SFC64(seed)).integers(0, 2**62, size // 8, dtype=np.int64)


def spilled(folder: Path) -> list[Path]:
    """The files that hold objects."""
    return list(folder.glob("eagleray_spilled_*/*-*"))


def test_the_disk_is_full(fresh: Any) -> None:
    """It is said; with references freed it works again."""
    ray = fresh
    system = {"local_fs_capacity_threshold": 1e-6, "oom_grace_period_s": 0.01}
    ray.init(address="local", num_cpus=1, object_store_memory=STORE, _system_config=system, log_to_driver=False)

    @ray.remote(max_retries=0)
    def make(size: int) -> Any:
        return numbers(1, size)

    held = [ray.put(numbers(seed, 10 * MB)) for seed in range(7)]
    told = r"bytes are used by 7 objects.*Free references, make room"
    for call in (lambda: ray.put(numbers(9, 30 * MB)), lambda: ray.get(make.remote(30 * MB), timeout=LIMIT)):
        with pytest.raises(ray.exceptions.OutOfDiskError, match=told):
            call()
    assert all(np.array_equal(value, numbers(seed, 10 * MB)) for seed, value in enumerate(ray.get(held)))
    del held
    assert np.array_equal(ray.get(ray.put(numbers(3, 60 * MB))), numbers(3, 60 * MB))


def test_a_file_system_without_room(place: Path) -> None:
    """A real one, of 40 MB: what does not fit fails, and what was there is still right."""
    where = place / "disk"
    where.mkdir()
    source = place / "full.py"
    source.write_text(
        """
import sys
import numpy as np
import eagleray as ray

def numbers(seed):
    return np.random.default_rng(seed).random(1_000_000)

ray.init(address="local", num_cpus=1, object_store_memory=80_000_000, object_spilling_directory=sys.argv[1])
refs = []
try:
    for seed in range(100):
        refs.append(ray.put(numbers(seed)))
except ray.exceptions.OutOfDiskError:
    pass
assert 11 <= len(refs) <= 15, len(refs)
for seed, ref in enumerate(refs):
    value = ray.get(ref)
    assert (value == numbers(seed)).all()
    del value
del refs[:8], ref
more = [ray.put(numbers(seed)) for seed in range(5)]
print([bool((ray.get(ref) == numbers(seed)).all()) for seed, ref in enumerate(more)])
"""
    )
    script = f"mount -t tmpfs -o size=40m none {where} && exec {sys.executable} {source} {where}"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert str([True] * 5) in done.stdout


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"object_spilling_directory": "/proc/nothing/here"}, "/proc/nothing/here"),
        ({"_system_config": {"object_spilling_config": "{"}}, "object_spilling_config"),
        (
            {"_system_config": {"object_spilling_config": '{"type": "smart_open", "params": {"uri": "s3://b"}}'}},
            "smart_open",
        ),
        ({"_system_config": {"object_spilling_config": '{"type": "filesystem", "params": {}}'}}, "directory_path"),
        ({"_system_config": {"object_spilling_threshold": 2}}, "object_spilling_threshold"),
    ],
)
def test_what_cannot_be_used_is_said_at_once(fresh: Any, keywords: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        fresh.init(address="local", num_cpus=1, object_store_memory=STORE, **keywords)


def test_wrong_types(fresh: Any) -> None:
    for keywords in ({"object_spilling_directory": 3}, {"_system_config": "x"}, {"_system_config": {"a": object()}}):
        with pytest.raises(TypeError):
            fresh.init(address="local", **keywords)


def test_a_killed_daemon_leaves_nothing_for_the_next(place: Path) -> None:
    """What it had spilled is removed when a session spills to the same directory; the environment says where."""
    where = place / "given"
    driver = Program(
        place,
        """
        import numpy as np
        ray.init(address="local", num_cpus=1, object_store_memory=80_000_000)
        refs = [ray.put(np.random.default_rng(seed).random(1_000_000)) for seed in range(20)]
        from eagleray._private.state import process
        say(process.require().daemon_pid)
        while True:
            ray.put(bytes(200_000))
            time.sleep(0.05)
        """,
        RAY_object_spilling_directory=str(where),
    )
    pid = int(driver.line(LIMIT))
    assert spilled(where)
    os.kill(pid, signal.SIGKILL)
    driver.child.wait(LIMIT)
    assert spilled(where), "somebody else removed it: the test shows nothing"
    import eagleray

    eagleray.init(address="local", num_cpus=1, object_spilling_directory=where)
    assert not spilled(where)
    eagleray.shutdown()
    assert not list(where.iterdir())


def test_wait_notices_a_spilled_file_that_is_gone(fresh: Any, tmp_path: Path) -> None:
    """What is lost with it is computed again before wait says that it is ready."""
    ray = fresh
    folder = tmp_path / "spill"
    folder.mkdir()
    ray.init(
        address="local",
        num_cpus=1,
        object_store_memory=STORE,
        object_spilling_directory=str(folder),
        log_to_driver=False,
    )
    ran = tmp_path / "ran"

    @ray.remote
    def make(seed: int) -> Any:
        with ran.open("a") as file:
            file.write("x")
        return numbers(seed, 10 * MB)

    refs = [make.remote(seed) for seed in range(16)]
    assert len(ray.wait(refs, num_returns=16, timeout=LIMIT)[0]) == 16
    files = spilled(folder)
    assert files
    for file in files:
        file.unlink()
    assert len(ray.wait(refs, num_returns=16, timeout=LIMIT, fetch_local=False)[0]) == 16
    assert len(ran.read_text()) == 16
    ready, rest = ray.wait(refs, num_returns=16, timeout=LIMIT)
    assert not rest
    assert len(ran.read_text()) > 16
    for seed, ref in enumerate(ready):
        assert np.array_equal(ray.get(ref), numbers(seed, 10 * MB))
