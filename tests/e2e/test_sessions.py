"""Beginning and end of sessions."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eagleray._private.session import node
from pace import PATIENCE_S, Calm, killed

LOCAL: dict[str, Any] = {"address": "local", "num_cpus": 2, "log_to_driver": False}


def gone(pids: list[int], folder: str, seconds: float = 30.0) -> list[str]:
    """What is left of a session after that time."""
    deadline = time.monotonic() + seconds
    while True:
        left = [f"process {pid}" for pid in pids if Path(f"/proc/{pid}").exists() and "Z" not in state(pid)]
        if Path(folder).exists():
            left.append(f"folder {folder}")
        if not left or time.monotonic() > deadline:
            return left
        threading.Event().wait(0.02)


def descriptors() -> list[str]:
    """What this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the descriptor of the listing itself
            pass
    return found


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_init_returns_a_context(fresh: Any) -> None:
    with fresh.init(**LOCAL, namespace="here") as context:
        assert fresh.is_initialized()
        assert dict(context)["node_id"] == fresh.get_runtime_context().get_node_id()
        assert len(context) == len(context.address_info) and "address" in context
        assert context.dashboard_url == "" and "RayContext" in repr(context)
        assert fresh.get_runtime_context().namespace == "here"
    assert not fresh.is_initialized()


def test_second_init(fresh: Any) -> None:
    fresh.init(**LOCAL)
    with pytest.raises(RuntimeError, match="init twice"):
        fresh.init(**LOCAL)
    again = fresh.init(**LOCAL, ignore_reinit_error=True)
    assert again["address"] == fresh.init(ignore_reinit_error=True)["address"]


def test_a_session_lies_where_the_program_says(fresh: Any, script: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.join(folder, "new", f"eagleray-{os.getuid()}")
        fresh.init(**LOCAL, _temp_dir=os.path.join(folder, "new"))
        context = fresh.get_runtime_context()
        assert context.get_temp_dir() == base and os.listdir(base) == [context.get_session_name()]
        assert fresh.get(fresh.remote(lambda: 5).remote()) == 5
        there = os.path.join(base, context.get_session_name())
        done = script(f"import eagleray; eagleray.init({there!r}, _temp_dir='/a')")
        assert "init(_temp_dir='/a') has no effect: this session was started before, in " + base in done.stderr
        fresh.shutdown()
        assert not os.listdir(base)
    with pytest.raises(TypeError, match="_temp_dir must be the path of a folder, got 5"):
        fresh.init(**LOCAL, _temp_dir=5)
    with pytest.raises(ValueError, match="too long a name for sockets"):
        fresh.init(**LOCAL, _temp_dir="/tmp/" + "x" * 200)
    assert not fresh.is_initialized()


def test_shutdown_without_a_session_and_twice(fresh: Any) -> None:
    fresh.shutdown()
    fresh.init(**LOCAL)
    fresh.shutdown()
    fresh.shutdown()
    with pytest.raises(fresh.exceptions.RaySystemError, match="init"):
        fresh.nodes()
    with pytest.raises(fresh.exceptions.RaySystemError):
        fresh.cluster_resources()


def test_automatic_init(fresh: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    @fresh.remote
    def f() -> int:
        return 1

    assert fresh.get(f.remote()) == 1
    assert fresh.is_initialized()
    fresh.shutdown()
    assert fresh.get(fresh.put(2)) == 2


def test_functions_and_classes_work_in_the_next_session(fresh: Any) -> None:
    @fresh.remote
    def f(x: int) -> int:
        return x + 1

    @fresh.remote
    class A:
        def m(self) -> int:
            return 5

    for _ in range(2):
        fresh.init(**LOCAL)
        assert fresh.get(f.remote(1)) == 2
        assert fresh.get(A.remote().m.remote()) == 5
        fresh.shutdown()


def test_use_after_shutdown_is_told(fresh: Any) -> None:
    @fresh.remote
    class A:
        def m(self) -> None: ...

    @fresh.remote
    def f(x: Any) -> None: ...

    fresh.init(**LOCAL)
    ref, actor = fresh.put(1), A.remote()
    fresh.shutdown()
    with pytest.raises(ValueError, match="shut down"):
        fresh.get(ref)
    with pytest.raises(ValueError, match="shut down"):
        fresh.wait([ref])
    with pytest.raises(ValueError, match="shut down"):
        actor.m.remote()
    fresh.init(**LOCAL)
    with pytest.raises(ValueError):
        actor.m.remote()
    with pytest.raises(ValueError):
        fresh.kill(actor)
    with pytest.raises((ValueError, fresh.exceptions.RayError)):
        fresh.get(ref, timeout=60)
    with pytest.raises((ValueError, fresh.exceptions.RayError)):
        fresh.get(f.remote(ref), timeout=60)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"num_cpus": -1}, ValueError, "num_cpus"),
        ({"num_gpus": "x"}, TypeError, "num_gpus"),
        ({"resources": {"a": 1.5}}, ValueError, "whole"),
        ({"resources": {"CPU": 1}}, AssertionError, "num_cpus"),
        ({"object_store_memory": 10}, ValueError, "object_store_memory"),
        ({"object_store_memory": float("nan")}, TypeError, "object_store_memory"),
        ({"object_store_memory": 1 << 50}, ValueError, "object_store_memory must be from 0 to"),
        ({"object_store_memory": 1e300}, ValueError, "object_store_memory must be from 0 to"),
        ({"_memory": 1 << 60}, ValueError, "_memory must be from 0 to"),
        ({"_memory": -1}, ValueError, "_memory must be from 0 to"),
        ({"_memory": "8GiB"}, TypeError, "_memory must be a number of bytes"),
        ({"labels": {"a": 1}}, TypeError, "labels must map strings to strings"),
        ({"labels": "a=b"}, TypeError, "labels must be a dictionary"),
        ({"num_cpu": 1}, RuntimeError, "num_cpu"),
        ({"namespace": 1}, TypeError, "namespace"),
        ({"address": "10.0.0.1:6379"}, ConnectionError, "10.0.0.1:6379"),
        ({"runtime_env": {"conda": "x"}}, ValueError, "conda"),
        ({"infeasible": "perhaps"}, ValueError, "infeasible"),
    ],
    ids=str,
)
def test_wrong_arguments_of_init(fresh: Any, arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        fresh.init(**arguments)
    assert not fresh.is_initialized()


def test_zero_cpus_are_zero(fresh: Any) -> None:
    fresh.init(address="local", num_cpus=0, log_to_driver=False)
    assert "CPU" not in fresh.cluster_resources() or fresh.cluster_resources()["CPU"] == 0
    assert fresh.get(fresh.remote(num_cpus=0)(lambda: 3).remote()) == 3
    with pytest.raises(fresh.exceptions.TaskUnschedulableError):
        fresh.get(fresh.remote(lambda: 3).remote(), timeout=60)


def test_waiting_for_ever_can_be_asked_for(fresh: Any) -> None:
    fresh.init(**LOCAL, infeasible="wait")
    ref = fresh.remote(num_gpus=1)(lambda: 1).remote()
    with pytest.raises(fresh.exceptions.GetTimeoutError):
        fresh.get(ref, timeout=0.5)
    fresh.remote(num_gpus=1)(type("A", (), {})).remote()


def test_init_and_shutdown_leak_nothing(fresh: Any) -> None:
    @fresh.remote
    def f() -> int:
        return os.getpid()

    def counts() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    pids: list[int] = []
    folder = ""
    before = (0, 0)
    for round_number in range(20):
        folder = fresh.init(**LOCAL)["session_dir"]
        pids.append(fresh.get(f.remote()))
        fresh.shutdown()
        if round_number == 4:
            before = counts()
    after = counts()
    assert after[0] <= before[0] and after[1] <= before[1] + 2, (before, after)
    assert gone(pids, folder) == []


def test_a_full_store_goes_after_the_session(fresh: Any, monkeypatch: Any) -> None:
    """The daemon has ended before the driver lets go of the store's memory; nothing of it stays."""
    from eagleray._private.session import node, store_memory
    from eagleray._private.state import process

    seen: list[tuple[bool, int]] = []

    def let_go(descriptor: int) -> None:
        seen.append((os.path.exists(f"/proc/{daemon}"), os.fstat(descriptor).st_blocks * 512))
        store_memory.let_go(descriptor)

    fresh.init(**LOCAL)
    daemon = process.session.daemon_pid
    monkeypatch.setattr(node, "store_memory", SimpleNamespace(let_go=let_go, await_freed=store_memory.await_freed))
    refs = [fresh.put(bytes(2**20)) for _ in range(64)]
    fresh.shutdown()
    del refs
    [(alive, held)] = seen
    assert not alive and held >= 64 << 20
    store_memory.await_freed()  # as the next init() does
    assert not any("memfd:eagleray-arena" in name for name in descriptors())


@pytest.mark.parametrize("size", [4096, 64 << 20])
def test_the_last_descriptor_of_a_store_is_closed(size: int) -> None:
    from eagleray._private.session import store_memory

    fd = os.memfd_create("test-store")
    os.posix_fallocate(fd, 0, size)
    store_memory.let_go(fd)
    if size > 4096:
        store_memory.await_freed()
    assert not any("memfd:test-store" in name for name in descriptors())


LEAVES = {
    "returns": "",
    "exits": "sys.exit(3)",
    "raises": "raise RuntimeError('x')",
    "exits at once": "os._exit(1)",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "is terminated": "os.kill(os.getpid(), signal.SIGTERM)",
}


@pytest.mark.parametrize("how", LEAVES)
def test_nothing_stays_when_the_driver_ends(script: Any, how: str) -> None:
    done = script(
        f"""
        import os, signal, sys, time
        import eagleray as ray
        context = ray.init(address="local", num_cpus=2, log_to_driver=False)

        @ray.remote
        def f():
            return os.getpid(), os.getppid()

        @ray.remote
        class A:
            def pid(self):
                return os.getpid()

            def block(self):
                time.sleep(1000)

        a = A.remote()
        pids = [*ray.get(f.remote()), ray.get(a.pid.remote())]
        a.block.remote()
        ray.put(b"x" * 10_000_000)
        print(context["session_dir"], *pids, flush=True)
        {LEAVES[how]}
        """,
        check=False,
    )
    folder, *pids = done.stdout.split()
    assert gone([int(pid) for pid in pids], folder) == []


def test_interrupt_of_get_leaves_the_session_usable(script: Any, tmp_path: Any) -> None:
    program = tmp_path / "interrupted.py"
    program.write_text(
        """
import os, sys, time
import eagleray as ray
ray.init(address="local", num_cpus=2)

@ray.remote
def slow():
    time.sleep(1000)

@ray.remote
def quick():
    return "usable"

@ray.remote
class A:
    def m(self):
        return "alive"

a = A.remote()
ray.get(a.m.remote())
ref = slow.remote()
try:
    print("waiting", flush=True)
    ray.get(ref)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(ray.get(quick.remote()), ray.get(a.m.remote()), flush=True)
"""
    )
    command = [sys.executable, str(program)]
    with killed(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)) as child:
        assert child.stdout.readline() == "waiting\n"
        threading.Event().wait(0.2)  # nothing tells from outside that it has begun to wait
        with Calm() as clock:
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the whole foreground group
            assert child.stdout.readline() == "interrupted\n"
            assert clock() < 1
        assert child.stdout.readline() == "usable alive\n"
        assert child.wait(PATIENCE_S) == 0


def test_import_is_light(script: Any) -> None:
    done = script(
        """
        import sys, time
        start = time.thread_time()
        import eagleray
        ours = time.thread_time() - start
        heavy = {"numpy", "asyncio", "inspect", "eagleray._hot", "eagleray._core"} & set(sys.modules)
        print(sorted(heavy), eagleray.__version__)
        start = time.thread_time()
        import asyncio, inspect, unittest.mock
        theirs = time.thread_time() - start
        assert ours < 2 * theirs, (ours, theirs)
        """
    )
    assert done.stdout.startswith("[]")


def test_a_method_of_a_session_that_is_over_says_so(fresh: Any) -> None:
    class Tool:
        def echo(self, x: int) -> int:
            return x

    with fresh.init(address="local", num_cpus=1, log_to_driver=False):
        method = fresh.remote(num_cpus=0)(Tool).remote().echo
    with fresh.init(address="local", num_cpus=1, log_to_driver=False):
        with pytest.raises(fresh.exceptions.ActorHandleNotFoundError):
            method.remote(1)
        with pytest.raises(fresh.exceptions.ActorHandleNotFoundError):
            fresh.put([method])


def test_of_several_nodes_of_a_cluster_the_address_of_its_head_means_the_current_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder, contextlib.ExitStack() as sockets:
        monkeypatch.setenv("EAGLERAY_TMPDIR", folder)
        base = Path(node.base_dir())
        for name in ("s-1", "s-2", "s-3"):
            (base / name).mkdir()
            (base / name / "heads").write_text("127.0.0.1:6379\n")
            listener = sockets.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(str(base / name / "d.sock"))
            listener.listen()
        for name in ("s-2", "s-3", "s-1"):
            (base / "current").write_text(f"{base / name}\n")
            assert node.resolve("127.0.0.1:6379") == str(base / name)


@pytest.mark.parametrize("what", ["a link", "writable by others", "another user's"])
def test_a_folder_of_sessions_that_is_not_the_users_own_is_refused(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder:
        monkeypatch.setenv("EAGLERAY_TMPDIR", folder)
        base = Path(folder) / f"eagleray-{os.getuid()}"
        if what == "a link":
            (Path(folder) / "elsewhere").mkdir()
            base.symlink_to(Path(folder) / "elsewhere")
        else:
            base.mkdir()
        if what == "writable by others":
            base.chmod(0o777)
        elif what == "another user's":
            if os.getuid() != 0:
                pytest.skip("only root may give a folder away")
            os.chown(base, 65534, 65534)
        with pytest.raises(PermissionError, match=re.escape(str(base))):
            node.base_dir()
