"""What `ps` shows of workers: users find them by it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from pace import until

LIMIT = 60


def title(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode()


def look() -> tuple[str, int]:
    return title(os.getpid()), os.getpid()


class Foo:
    def __init__(self) -> None:
        self.first = title(os.getpid())

    def m(self) -> tuple[str, str, int]:
        return self.first, title(os.getpid()), os.getpid()

    def quick(self) -> None:
        """Has a shorter name than what may have been shown before, and shows what is left of that."""


def test_tasks_actors_and_idle_workers(ray: Any) -> None:
    shown, pid = ray.get(ray.remote(look).remote(), timeout=LIMIT)
    assert shown == "ray::look"
    until(lambda: title(pid) == "ray::IDLE")
    ps = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=True)
    assert ps.stdout.strip() == "ray::IDLE"
    foo = ray.remote(Foo).remote()
    first, shown, pid = ray.get(foo.m.remote(), timeout=LIMIT)
    assert (first, shown) == ("ray::Foo.__init__", "ray::Foo.m")
    ray.get(foo.quick.remote(), timeout=LIMIT)
    until(lambda: title(pid) == "ray::Foo")


def test_names_of_any_kind(ray: Any) -> None:
    named = ray.remote(look).options(name="my task")
    assert ray.get(named.remote(), timeout=LIMIT)[0] == "ray::my task"
    long = "x" * 1000
    shown, pid = ray.get(ray.remote(look).options(name=long).remote(), timeout=LIMIT)
    assert shown.startswith("ray::xxxxxxxxxx") and f"ray::{long}".startswith(shown)
    until(lambda: title(pid) == "ray::IDLE")
    assert ray.get(ray.remote(look).options(name="grün").remote(), timeout=LIMIT)[0] == "ray::grün"


def test_actors_with_threads_show_a_method_while_one_runs(ray: Any) -> None:
    class Threads:
        def __init__(self) -> None:
            self.go = threading.Event()

        def pid(self) -> int:
            return os.getpid()

        def wait(self) -> bool:
            return self.go.wait(LIMIT)

        def end(self) -> None:
            self.go.set()

    actor = ray.remote(max_concurrency=3)(Threads).remote()
    pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    waits = actor.wait.remote()
    until(lambda: title(pid) == "ray::Threads.wait")
    ray.get(actor.end.remote(), timeout=LIMIT)
    assert ray.get(waits, timeout=LIMIT)
    until(lambda: title(pid) == "ray::Threads")


@pytest.mark.parametrize("groups", [{}, {"io": 3}])
def test_async_actors_show_a_method_while_one_runs(ray: Any, groups: dict[str, int]) -> None:
    class Loop:
        def __init__(self) -> None:
            self.go = {name: asyncio.Event() for name in ("first", "second")}

        async def pid(self) -> tuple[int, str]:
            return os.getpid(), title(os.getpid())

        async def first(self) -> None:
            await self.go["first"].wait()

        async def second(self) -> None:
            await self.go["second"].wait()

        async def end(self, name: str) -> None:
            self.go[name].set()

        async def fails(self) -> None:
            raise ValueError

    actor = ray.remote(concurrency_groups=groups)(Loop).remote()

    def call(method: str, *args: str) -> Any:
        bound = getattr(actor, method)
        return (bound.options(concurrency_group="io") if groups else bound).remote(*args)

    pid, shown = ray.get(call("pid"), timeout=LIMIT)
    assert shown == "ray::Loop.pid" and until(lambda: title(pid) == "ray::Loop")
    waits = {}
    for name in ("first", "second"):
        waits[name] = call(name)
        until(lambda name=name: title(pid) == f"ray::Loop.{name}")
    ray.cancel(waits["first"])
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(waits["first"], timeout=LIMIT)
    with pytest.raises(ValueError):
        ray.get(call("fails"), timeout=LIMIT)
    assert title(pid) != "ray::Loop"
    ray.get(call("end", "second"), timeout=LIMIT)
    ray.get(waits["second"], timeout=LIMIT)
    until(lambda: title(pid) == "ray::Loop")


def test_variables_stay_as_they_are(ray: Any) -> None:
    """They lie behind the arguments in memory."""

    @ray.remote(name="y" * 1000)
    def variables() -> tuple[str, dict[str, str]]:
        shown = subprocess.run(["env", "-0"], capture_output=True, check=True).stdout
        child = dict(part.split("=", 1) for part in os.fsdecode(shown).split("\0") if part)
        own = Path("/proc/self/environ").read_bytes()
        return os.fsdecode(own), {name: text for name, text in child.items() if os.environ.get(name) != text}

    own, differ = ray.get(variables.remote(), timeout=LIMIT)
    assert differ == {} and "EAGLERAY_SESSION_MARK=" in own and own.count("\0") > 5
