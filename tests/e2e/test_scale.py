"""Numbers: many references, many actors, memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pace import Calm, bare_start

LOCAL: dict[str, Any] = {"address": "local", "num_cpus": 2, "log_to_driver": False}


def proportional_mb(pid: int) -> float:
    """What a process really costs: its memory, with shared pages divided by who shares them."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no Pss")


def family(pid: int) -> list[int]:
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return [pid, *(found for child in children for found in family(int(child)) if Path(f"/proc/{child}").exists())]


def test_many_tasks_at_once_cost_little(fresh: Any) -> None:
    count = 200_000
    fresh.init(**LOCAL)
    nothing = fresh.remote(lambda: None)
    fresh.get([nothing.remote() for _ in range(1000)])
    before = proportional_mb(os.getpid())
    others = family(fresh._private.state.process.session.daemon_pid)
    start = {pid: proportional_mb(pid) for pid in others}
    refs = [nothing.remote() for _ in range(count)]
    fresh.get(refs)
    assert (proportional_mb(os.getpid()) - before) * 2**20 / count < 1024
    for pid in others:
        if Path(f"/proc/{pid}/smaps_rollup").exists():
            assert proportional_mb(pid) - start[pid] < 30


def test_many_actors(fresh: Any) -> None:
    @fresh.remote(num_cpus=0)
    class Small:
        def pid(self) -> int:
            return os.getpid()

    fresh.init(**LOCAL)
    actors = [Small.remote() for _ in range(100)]
    pids = fresh.get([actor.pid.remote() for actor in actors], timeout=100)
    assert len(set(pids)) == 100
    assert sum(map(proportional_mb, pids)) / 100 < 8


def test_idle_session_is_small(script: Any) -> None:
    pytest.importorskip("numpy")
    done = script(
        """
        import os, subprocess, time
        import numpy
        import eagleray as ray
        ray.init(address="local")
        ray.get(ray.remote(lambda: 1).remote())

        def family(pid):
            out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
            return [pid] + [x for child in out.split() for x in family(int(child))]

        def session():
            total = count = 0
            for pid in family(os.getpid()):
                try:
                    rows = open(f"/proc/{pid}/smaps_rollup").read().splitlines()
                except OSError:
                    continue
                total += sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
                count += 1
            return total * 1024 / 1e6, count

        deadline = time.monotonic() + 60
        while session() > (60, 5) and time.monotonic() < deadline:
            time.sleep(0.25)
        print(*session())
        """
    )
    megabytes, processes = map(float, done.stdout.split())
    assert megabytes < 60 and processes <= 5


def test_first_result_comes_soon(script: Any) -> None:
    pytest.importorskip("numpy")
    done = script(
        """
        import time
        import eagleray as ray
        f = ray.remote(lambda: 1)
        start = time.perf_counter()
        ray.init(address="local")
        ray.get(f.remote())
        print(time.perf_counter() - start)
        """
    )
    # 0.2 s beside 0.1 s on a quiet machine; the benchmark holds the real figure.
    assert float(done.stdout) < 10 * bare_start(f"import sys; sys.path[:] = {sys.path!r}; import numpy")


def test_one_list_of_ten_thousand(fresh: Any) -> None:
    fresh.init(**LOCAL)
    refs = [fresh.put(i) for i in range(10_000)]
    with Calm() as clock:
        assert fresh.get(refs) == list(range(10_000))
        assert fresh.wait(refs, num_returns=10_000)[1] == []
        assert fresh.get(fresh.put(refs)) == refs
        assert clock() < 10
