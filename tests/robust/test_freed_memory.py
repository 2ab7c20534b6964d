"""What a task has freed stays with its worker for the next one, and goes when none comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import eagleray as ray_module
import numpy as np
from pace import PATIENCE_S
from processes import until

MIB = 1 << 20


def resident(pid: int) -> int:
    """Bytes of a process's own memory."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


def work() -> tuple[int, int]:
    """Fills 80 MiB and frees them: the faults that it took, and the worker."""
    import os
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(80 * MIB, dtype=np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, os.getpid()


def test_freed_memory_is_kept_for_the_next_task_and_given_back_when_there_is_none(monkeypatch: Any) -> None:
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    with ray_module.init(address="local", num_cpus=1, log_to_driver=False):
        task = ray_module.remote(work)
        found = ray_module.get([task.remote() for _ in range(4)])
        pid = found[-1][1]
        assert {other for _, other in found} == {pid}
        assert resident(pid) > 80 * MIB
        assert min(faults for faults, _ in found[1:]) < 1000, found  # all 80 MiB anew take 20,480, or 40 huge ones
        until(lambda: resident(pid) < 60 * MIB, PATIENCE_S)


def test_the_users_own_settings_stay(monkeypatch: Any) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    with ray_module.init(address="local", num_cpus=1, log_to_driver=False):
        _, pid = ray_module.get(ray_module.remote(work).remote())
        assert resident(pid) < 60 * MIB
