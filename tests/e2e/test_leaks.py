"""Workers that hold more and more device memory: who is named, and who is replaced."""

from __future__ import annotations

import gc
import os
import pathlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from eagleray._private.worker import leaks
from eagleray._private.worker.leaks import Leaks

FAKES = pathlib.Path(__file__).parents[2] / "core" / "internal" / "nvml" / "testdata"
MIB = 2**20
HEAD = """
import os, sys
import eagleray as ray

def hold(count):
    with open(os.environ["FAKE_NVML"] + str(os.getpid()), "w") as file:
        file.write(f"device {2**34} GPU-a\\nuse 0 {os.getpid()} {count}\\n")
    os.replace(file.name, os.environ["FAKE_NVML"])  # the daemon reads it at any time

held = {"bytes": 0}
def more(count):
    held["bytes"] += count
    return held["bytes"]

ray.init(address="local", num_cpus=2, num_gpus=1, gpu_memory="16GiB")
MIB = 2**20
"""


@pytest.fixture
def run(tmp_path: pathlib.Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program whose driver is a fake."""
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "nvml.so", FAKES / "nvml.c"], check=True)
    (tmp_path / "state").write_text(f"device {2**34} GPU-a\n")
    (tmp_path / "my_probe.py").write_text("held = 0\ndef count():\n    return held\n")

    def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        path.write_text(HEAD + textwrap.dedent(code))
        fakes = {"EAGLERAY_NVML_LIBRARY": str(tmp_path / "nvml.so"), "FAKE_NVML": str(tmp_path / "state")}
        done = subprocess.run(
            [sys.executable, str(path)],
            env={**os.environ, **fakes, **variables},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


def warnings(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"Eagle Ray warning: .*", done.stderr)


def test_a_kept_worker_that_leaks_is_told(run: Any) -> None:
    done = run("""
        @ray.remote(num_gpus=1, max_calls=0)
        def leaky():
            hold(more(3 * MIB))
            return os.getpid()

        @ray.remote(num_gpus=1, max_calls=0)
        def steady():
            hold(more(0))
            return os.getpid()

        pids = {ray.get(leaky.remote()) for _ in range(4)}
        pids |= {ray.get(steady.remote()) for _ in range(3)}
        print(len(pids))
    """)
    assert done.stdout == "1\n", "max_calls=0 keeps the worker whatever it does"
    told = warnings(done)
    assert len(told) == 2, told  # at the first growth and when it has doubled
    assert "leaky leaks device memory: after 2 calls" in told[0] and "3 MiB (3145728 bytes)" in told[0]
    assert "6 MiB (6291456 bytes)" in told[1] and "on_leak" in told[0]


def test_on_leak_replaces_a_worker_only_then(run: Any) -> None:
    done = run("""
        @ray.remote(num_gpus=1, max_calls="on_leak")
        def f(count):
            hold(more(count))
            return os.getpid()

        pids = [ray.get(f.remote(count * MIB)) for count in (500, 0, -100, 50, 50, 2, 0, 0)]
        print([pids.index(pid) for pid in pids])
    """)
    # The first call is the baseline; what was given back counts; the sixth goes beyond the second's level.
    told = warnings(done)
    assert done.stdout.strip() == "[0, 0, 0, 0, 4, 4, 6, 6]", done.stdout + done.stderr
    assert len(told) == 2 and all(
        "f leaks device memory" in line and "a fresh one takes its place" in line for line in told
    )


def test_libraries_and_probes_count_where_the_driver_does_not(run: Any, tmp_path: pathlib.Path) -> None:
    done = run(
        """
        @ray.remote(gpu_memory="1GiB", max_calls="on_leak", runtime_env={"env_vars": {"PYTHONPATH": sys.path[0]}})
        def f():
            import my_probe
            my_probe.held += 10 * MIB
            return os.getpid()

        pids = [ray.get(f.remote()) for _ in range(4)]
        print([pids.index(pid) for pid in pids])
    """,
        EAGLERAY_NVML_LIBRARY="/nonexistent",
        EAGLERAY_DEVICE_MEMORY_PROBE="my_probe:count",
        PYTHONPATH=str(tmp_path),
    )
    assert done.stdout == "[0, 0, 2, 2]\n", done.stdout + done.stderr


def test_a_probe_that_fails_loses_no_result(run: Any) -> None:
    done = run(
        """
        @ray.remote(num_gpus=1, max_calls=0)
        def f():
            return 1
        print([ray.get(f.remote()) for _ in range(3)])
    """,
        EAGLERAY_DEVICE_MEMORY_PROBE="no_such_module:count",
    )
    assert done.stdout == "[1, 1, 1]\n"
    assert len(warnings(done)) == 1 and "no_such_module" in done.stderr


def test_workers_without_devices_are_not_measured(run: Any) -> None:
    done = run("""
        @ray.remote
        def f():
            return "eagleray._private.worker.leaks" in sys.modules and sys.modules["eagleray._private.worker.main"]
        @ray.remote
        def g():
            hold(more(50 * MIB))
        for _ in range(3):
            ray.get(g.remote())
        print("done")
    """)
    assert done.stdout == "done\n" and warnings(done) == []


def test_on_leak_is_refused_without_devices(ray: Any) -> None:
    with pytest.raises(ValueError, match="max_calls='on_leak' watches the memory of devices"):
        ray.remote(max_calls="on_leak")(lambda: None)
    with pytest.raises(ValueError, match="takes a number or 'on_leak', got 'sometimes'"):
        ray.remote(num_gpus=1, max_calls="sometimes")(lambda: None)
    with pytest.raises(ValueError, match="max_calls"):
        ray.remote(num_gpus=1, max_calls="on_leak")(type("A", (), {}))
    with pytest.raises(ValueError, match="only accepts None, 0 or a positive integer"):
        ray.remote(num_gpus=1, max_calls=-1)(lambda: None)
    f = ray.remote(num_gpus=1, max_calls="on_leak")(lambda: None)
    with pytest.raises(ValueError, match="this function has none"):
        f.options(num_gpus=0)


def test_growth_is_counted_by_function(capsys: pytest.CaptureFixture[str]) -> None:
    levels = iter([100, 100 + 5 * MIB, 100 + 5 * MIB, 100 + 9 * MIB, 100 + 9 * MIB, 100 + 9 * MIB + 100])
    watch = Leaks(lambda: next(levels))
    assert not watch.after(b"f", "f", recycled=False)  # f's baseline
    assert not watch.after(b"g", "g", recycled=False)  # g's: what its first call loads is no leak
    assert not watch.after(b"f", "f", recycled=False)
    assert watch.after(b"g", "g", recycled=False)  # measured again after a collection
    assert not watch.after(b"f", "f", recycled=False), "100 bytes are below the threshold"
    assert "g leaks device memory: after 2 calls" in capsys.readouterr().err


def test_garbage_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    level = [0]
    monkeypatch.setattr(gc, "collect", lambda: level.__setitem__(0, 0))
    watch = Leaks(lambda: level[0])
    for _ in range(4):
        assert not watch.after(b"f", "f", recycled=False)
        level[0] += 50 * MIB


def test_what_caches_keep_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hot:
        used = 1000

        def rpc(self, *_: Any) -> bytes:
            return leaks.pack(self.used)

    counts = [(100, 700)]
    monkeypatch.setattr(leaks, "_LIBRARIES", [lambda: counts[0], lambda: None])
    hot = Hot()
    measure = leaks.measure_with(hot)
    assert measure() == 400  # 600 of the 1000 are a library's cache
    hot.used = -1
    assert measure() == 100
    monkeypatch.setattr(leaks, "_LIBRARIES", [lambda: None])
    assert measure() is None
