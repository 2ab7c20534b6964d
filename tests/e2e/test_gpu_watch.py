"""Who holds how much memory of a GPU, and what happens to one who holds more than its share."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

FAKES = pathlib.Path(__file__).parents[2] / "core" / "internal" / "nvml" / "testdata"
GIB = 2**30
#: What every program begins with: ``use(bytes)`` makes the driver say that this process holds so much.
HEAD = """
import fcntl, os, time
import eagleray as ray

def use(count, device=0, pid=None):
    with open(os.environ["FAKE_NVML"] + "-lock", "w") as lock:  # another task may use a GPU at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(os.environ["FAKE_NVML"]) as file:
            mine = f"use {device} {os.getpid()} "
            lines = [line for line in file.read().split("\\n") if line and not line.startswith(mine)]
        lines.append(f"use {device} {pid or os.getpid()} {count}")
        with open(os.environ["FAKE_NVML"] + str(os.getpid()), "w") as file:
            file.write("\\n".join(lines) + "\\n")
        os.replace(file.name, os.environ["FAKE_NVML"])

def until(look):
    end = time.monotonic() + 60
    while not look():
        assert time.monotonic() < end
        time.sleep(0.01)

GIB = 2**30
ray.init(address="local", num_cpus=2, num_gpus=1, gpu_memory="16GiB")
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that put fake libraries in the place of the driver's."""
    folder = tmp_path_factory.mktemp("fakes")
    for name in ("nvml", "cuda"):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / f"{name}.so", FAKES / f"{name}.c"], check=True)
    return {"EAGLERAY_NVML_LIBRARY": str(folder / "nvml.so"), "EAGLERAY_CUDA_LIBRARY": str(folder / "cuda.so")}


@pytest.fixture
def run(libraries: dict[str, str], tmp_path: pathlib.Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program with a driver that has one device of 16 GiB."""
    (tmp_path / "state").write_text(f"device {16 * GIB} GPU-a\n")

    def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        path.write_text(HEAD + textwrap.dedent(code))
        env = {**os.environ, **libraries, "FAKE_NVML": str(tmp_path / "state"), **variables}
        done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


def test_a_task_that_exceeds_its_share_is_ended(run: Any) -> None:
    done = run("""
        @ray.remote(gpu_memory="8GiB", gpu_memory_enforce=True, max_retries=5)
        def greedy(path):
            with open(path, "a") as file:
                file.write("ran ")
            use(9 * GIB)
            time.sleep(90)

        @ray.remote(gpu_memory="8GiB", gpu_memory_enforce=True)
        def modest():
            use(8 * GIB)
            time.sleep(0.3)
            return "fine"

        path = os.environ["FAKE_NVML"] + "-runs"
        fine = modest.remote()
        try:
            ray.get(greedy.remote(path), timeout=60)
        except ray.exceptions.GpuMemoryExceededError as error:
            assert isinstance(error, ray.exceptions.RayError)
            print(error)
        print(ray.get(fine), open(path).read())
    """)
    assert "task greedy held 9 GiB (9663676416 bytes) of GPU 0, but asked for gpu_memory=8 GiB" in done.stdout
    assert done.stdout.endswith("fine ran \n"), "it is not tried again, and who keeps its share lives"


def test_an_actor_that_exceeds_its_share_is_ended_and_restarts_if_it_may(run: Any) -> None:
    done = run("""
        @ray.remote(gpu_memory="8GiB", gpu_memory_enforce=True)
        class Holder:
            def hold(self, count):
                use(count)
                time.sleep(0.3 if count <= 8 * GIB else 60)  # what is too much is seen at one of the next looks
                return os.getpid()

        holder = Holder.remote()
        assert ray.get(holder.hold.remote(8 * GIB)) > 0
        for _ in range(2):
            try:
                ray.get(holder.hold.remote(8 * GIB + 1), timeout=60)
            except ray.exceptions.GpuMemoryExceededError as error:
                print(error)
        again = Holder.options(max_restarts=1, max_task_retries=0).remote()
        first = ray.get(again.hold.remote(1))
        try:
            ray.get(again.hold.remote(9 * GIB), timeout=60)
        except ray.exceptions.RayError as error:
            print("lost", type(error).__name__)
        assert ray.get(again.hold.remote(1), timeout=60) != first
    """)
    assert done.stdout.count("actor Holder held 8 GiB (8589934593 bytes) of GPU 0") == 2
    assert "lost" in done.stdout


def test_what_children_of_a_task_hold_counts(run: Any) -> None:
    done = run("""
        import subprocess
        @ray.remote(gpu_memory="1GiB", gpu_memory_enforce=True)
        def parent():
            child = subprocess.Popen(["sleep", "30"])
            use(2 * GIB, pid=child.pid)
            time.sleep(90)

        try:
            ray.get(parent.remote(), timeout=60)
        except ray.exceptions.GpuMemoryExceededError as error:
            print(error)
    """)
    assert "task parent held 2 GiB" in done.stdout


def test_without_enforcement_it_is_only_shown(run: Any) -> None:
    done = run("""
        @ray.remote(gpu_memory="1GiB")
        class Holder:
            def hold(self, count):
                use(count)

        holder = Holder.remote()
        ray.get(holder.hold.remote(3 * GIB))
        until(lambda: ray.nodes()[0].get("GpuMemory"))
        print(ray.nodes()[0]["GpuMemory"])
        assert ray.get(holder.hold.remote(1)) is None
    """)
    assert "'name': 'Holder', 'device': '0', 'used': 3221225472, 'gpu_memory': 1073741824}" in done.stdout


def test_what_workers_of_another_node_hold_is_shown(run: Any) -> None:
    done = run("""
        from eagleray.cluster_utils import Cluster

        ray.shutdown()
        cluster = Cluster(initialize_head=True, head_node_args={"num_gpus": 0}, connect=True)
        there = cluster.add_node(num_gpus=1, gpu_memory="16GiB")

        @ray.remote(gpu_memory="1GiB")
        class Holder:
            def hold(self, count):
                use(count)

        holder = Holder.remote()
        ray.get(holder.hold.remote(3 * GIB))
        held = lambda: {node["NodeID"]: node["GpuMemory"] for node in ray.nodes() if node.get("GpuMemory")}
        until(held)
        assert list(held()) == [there.node_id]
        print(held()[there.node_id])
        ray.shutdown()
        cluster.shutdown()
    """)
    assert "'name': 'Holder', 'device': '0', 'used': 3221225472, 'gpu_memory': 1073741824}" in done.stdout


def test_enforcement_outlives_the_process_that_asks_the_driver(run: Any) -> None:
    done = run("""
        def helpers():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/cmdline") as file, open(f"/proc/{pid}/environ") as variables:
                        if "eagleray-gpu\\0watch" in file.read() and os.environ["FAKE_NVML"] in variables.read():
                            yield int(pid)
                except OSError:
                    pass

        @ray.remote(gpu_memory="8GiB", gpu_memory_enforce=True)
        class Holder:
            def hold(self, count):
                use(count)
                time.sleep(90 if count > 8 * GIB else 0)

        holder = Holder.remote()
        ray.get(holder.hold.remote(GIB))
        until(lambda: ray.nodes()[0].get("GpuMemory"))
        (first,) = helpers()
        os.kill(first, 9)
        try:
            ray.get(holder.hold.remote(9 * GIB), timeout=60)
        except ray.exceptions.GpuMemoryExceededError as error:
            print("ended")
        (second,) = helpers()
        assert second != first
        with open(os.environ["FAKE_NVML"], "a") as file:
            file.write("hang\\n")
        Holder.remote()
        ray.shutdown()
        until(lambda: not list(helpers()))
        print("gone")
    """)
    assert done.stdout == "ended\ngone\n"


ASK = """
    @ray.remote(gpu_memory="1GiB", gpu_memory_enforce=True)
    def task(): ...
    @ray.remote(gpu_memory="1GiB", gpu_memory_enforce=True)
    class Actor: ...
    for attempt in (task.remote, Actor.remote):
        try:
            attempt()
            print("taken")
        except ValueError as error:
            print(error)
"""


def test_it_raises_where_nothing_can_be_watched(run: Any) -> None:
    done = run(ASK, EAGLERAY_NVML_LIBRARY="/nonexistent.so")
    assert done.stdout.count("gpu_memory_enforce=True is not possible on this node: NVML") == 2


def test_it_raises_where_process_ids_are_others(run: Any) -> None:
    done = run(ASK, FAKE_CUDA_PID="1")
    assert done.stdout.count("NVML does not list this node's processes under their ids") == 2


def test_a_probe_proves_the_process_ids(run: Any) -> None:
    assert run(ASK).stdout.count("taken") == 2
