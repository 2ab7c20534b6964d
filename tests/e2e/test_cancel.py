"""`cancel`: whom it reaches, whom it leaves alone, and that everything works afterwards."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from pace import Calm, until

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def wait_for(path: Path, size: int = 0) -> None:
    """Waits until a file is there, and so large."""
    until(lambda: path.exists() and path.stat().st_size >= size, f"{path.name} comes")


def loop(mark: Path, seconds: float = 300, go: Path | None = None) -> str:
    """Runs until it is interrupted, the file ``go`` is there, or for long; tells when it began."""
    with open(mark, "a") as file:
        file.write("x")
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (go and go.exists()):
        time.sleep(0.005)
    return "ended"


def outcome(ray: Any, ref: Any) -> str:
    try:
        return str(ray.get(ref, timeout=LIMIT))
    except Exception as error:
        return type(error).__name__


INTERRUPTED, NEVER = "RayTaskError(TaskCancelledError)", "TaskCancelledError"


def test_ten_thousand_at_once(ray: Any, tmp_path: Path) -> None:
    """Queued, sent and running ones, and calls that wait for an actor: in seconds, whatever their order."""
    slow = ray.remote(loop)

    @ray.remote(num_cpus=0)
    class Actor:
        def hold(self, mark: Path, stop: Path) -> None:
            mark.touch()
            while not stop.exists():
                time.sleep(0.005)

        def call(self) -> int:
            return 1

    actor = Actor.remote()
    ray.get([ray.remote(lambda: 1).remote() for _ in range(200)])
    actor.hold.remote(tmp_path / "hold", tmp_path / "stop")
    wait_for(tmp_path / "hold")
    refs = [slow.remote(tmp_path / "slow") for _ in range(10_000)] + [actor.call.remote() for _ in range(10_000)]
    wait_for(tmp_path / "slow")
    with Calm() as clock:
        for ref in reversed(refs):
            ray.cancel(ref)
        _, rest = ray.wait(refs, num_returns=len(refs), timeout=2 * LIMIT)
        assert not rest
        assert clock() < 10
    assert {outcome(ray, ref) for ref in refs} <= {INTERRUPTED, NEVER}
    (tmp_path / "stop").touch()
    assert ray.get(actor.call.remote(), timeout=LIMIT) == 1
    assert ray.get([ray.remote(lambda: 1).remote() for _ in range(20)], timeout=LIMIT) == [1] * 20


@pytest.mark.parametrize("way", ["own thread", "another thread", "nobody holds it", "actor's call", "waits"])
def test_children(ray: Any, tmp_path: Path, way: str) -> None:
    """All that the task submitted is cancelled, however it did so."""

    @ray.remote(num_cpus=0)
    def child(folder: Path, *_: Any) -> None:
        try:
            loop(folder / "begun")
        except KeyboardInterrupt:
            (folder / "interrupted").touch()
            raise

    @ray.remote(num_cpus=0)
    class Actor:
        async def call(self, folder: Path) -> None:
            (folder / "begun").touch()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                (folder / "interrupted").touch()
                raise

    @ray.remote
    def parent(folder: Path) -> None:
        kept: list[Any] = []
        if way == "another thread":
            thread = threading.Thread(target=lambda: kept.append(child.remote(folder)))
            thread.start()
            thread.join()
        elif way == "nobody holds it":
            child.remote(folder)
        elif way == "actor's call":
            kept.append(Actor.remote())
            kept.append(kept[0].call.remote(folder))
        else:
            kept.append(child.remote(folder))
        if way == "waits":
            kept.append(child.remote(folder / "never", kept[0]))
            ray.get(kept[1])
        loop(folder / "parent")

    ref = parent.remote(tmp_path)
    wait_for(tmp_path / "begun")
    if way != "waits":
        wait_for(tmp_path / "parent")
    ray.cancel(ref)
    assert outcome(ray, ref) == INTERRUPTED
    wait_for(tmp_path / "interrupted")


def test_the_error_names_the_task(ray: Any, tmp_path: Path) -> None:
    ref = ray.remote(loop).remote(tmp_path / "began")
    wait_for(tmp_path / "began")
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError) as caught:
        ray.get(ref, timeout=LIMIT)
    assert caught.value.task_id == ref.task_id()
    assert f"Task: {ref.task_id()} was cancelled." in str(caught.value)
    copy = pickle.loads(pickle.dumps(ray.exceptions.TaskCancelledError(ref.task_id(), "why")))
    assert (copy.task_id, str(copy)) == (ref.task_id(), f"Task: {ref.task_id()} was cancelled. why")


def test_others_children_are_left_alone(ray: Any, tmp_path: Path) -> None:
    """The same worker process has submitted for another task before: that one's child goes on."""

    go = tmp_path / "go"

    @ray.remote(num_cpus=0)
    def child(mark: Path) -> str:
        return loop(mark, go=go)

    @ray.remote(resources={"slot": 2})
    def parent(folder: Path | None) -> Any:
        if folder is None:
            return os.getpid(), [child.remote(tmp_path / "earlier")]
        (folder / "pid").write_text(str(os.getpid()))
        own = child.remote(folder / "own")
        return ray.get(own)

    pid, (earlier,) = ray.get(parent.remote(None), timeout=LIMIT)
    ref = parent.remote(tmp_path)
    wait_for(tmp_path / "earlier", 1)
    wait_for(tmp_path / "own", 1)
    ray.cancel(ref)
    assert outcome(ray, ref) == INTERRUPTED
    assert int((tmp_path / "pid").read_text()) == pid, "another worker ran it: this shows nothing"
    go.touch()
    assert outcome(ray, earlier) == "ended"


def test_children_of_one_coroutine(ray: Any, tmp_path: Path) -> None:
    """An actor's coroutines run together; only the cancelled one's children end. Its background's do not."""

    go = tmp_path / "go"

    @ray.remote(num_cpus=0)
    def child(mark: Path) -> str:
        return loop(mark, go=go)

    @ray.remote
    class Actor:
        def __init__(self, folder: Path) -> None:
            self.folder = folder
            self.background: Any = None

        async def run(self, name: str) -> str:
            inner = asyncio.ensure_future(self.inner(name))
            return str(await inner)

        async def inner(self, name: str) -> str:
            return str(await child.remote(self.folder / name))

        async def begin(self) -> None:
            self.background = child.remote(self.folder / "background")

        async def result(self) -> str:
            return str(await self.background)

    actor = Actor.remote(tmp_path)
    ray.get(actor.begin.remote())
    first, second = actor.run.remote("first"), actor.run.remote("second")
    for name in ("first", "second", "background"):
        wait_for(tmp_path / name)
    ray.cancel(first)
    assert outcome(ray, first) == INTERRUPTED
    go.touch()
    assert outcome(ray, second) == "ended"
    assert outcome(ray, actor.result.remote()) == "ended"


def test_force_ends_children_and_is_not_retried(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    def child(folder: Path) -> None:
        while True:
            try:
                loop(folder / "child")
            except KeyboardInterrupt:
                continue

    @ray.remote(max_retries=-1)
    def parent(folder: Path) -> None:
        kept = child.remote(folder)
        (folder / "pid").write_text(str(os.getpid()))
        while kept:
            try:
                loop(folder / "parent")
            except KeyboardInterrupt:
                continue

    ref = parent.remote(tmp_path)
    wait_for(tmp_path / "child")
    wait_for(tmp_path / "parent")
    ray.cancel(ref, force=True)
    assert outcome(ray, ref) == NEVER
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists(), "the worker ends")
    tries = (tmp_path / "parent").stat().st_size, (tmp_path / "child").stat().st_size
    assert ray.get([ray.remote(lambda: 1).remote() for _ in range(8)], timeout=LIMIT) == [1] * 8
    assert ((tmp_path / "parent").stat().st_size, (tmp_path / "child").stat().st_size) == tries


def test_while_it_waits_to_be_tried_again(ray: Any, tmp_path: Path) -> None:
    """A task whose workers die waits longer each time; cancelling ends the wait."""

    @ray.remote(max_retries=-1)
    def dies(mark: Path) -> None:
        with open(mark, "a") as file:
            file.write("x")
        os._exit(1)

    ref = dies.remote(tmp_path / "mark")
    wait_for(tmp_path / "mark", 5)
    ray.cancel(ref)
    with Calm() as clock:
        assert outcome(ray, ref) == NEVER
        assert clock() < 5
    size = (tmp_path / "mark").stat().st_size
    other = ray.remote(loop).remote(tmp_path / "other")
    assert not ray.wait([other], timeout=0.9)[0], "a task that has nothing to do with it has ended"
    assert (tmp_path / "mark").stat().st_size == size
    ray.cancel(other)


def test_actor_call_behind_one_that_waits_for_an_argument(ray: Any, tmp_path: Path) -> None:
    """When the first of the queue is cancelled, those behind it go on."""

    @ray.remote
    class Cell:
        def take(self, value: Any) -> Any:
            return value

    cell = Cell.remote()
    ray.get(cell.take.remote(0))
    slow = ray.remote(loop).remote(tmp_path / "slow")
    wait_for(tmp_path / "slow")
    first, second = cell.take.remote(slow), cell.take.remote(2)
    ray.cancel(first)
    assert outcome(ray, first) == NEVER
    assert ray.get(second, timeout=LIMIT) == 2
    ray.cancel(slow)
    assert outcome(ray, slow) == INTERRUPTED


def test_every_coroutine_of_many(ray: Any) -> None:
    """Hundreds of cancellations in a row: none is lost, begun or not."""

    @ray.remote(max_concurrency=200)
    class Waits:
        def __init__(self) -> None:
            self.ended = 0

        async def wait(self) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                self.ended += 1

        async def count(self) -> int:
            return self.ended

    waits = Waits.remote()
    refs = [waits.wait.remote() for _ in range(400)]
    ray.get(ray.remote(lambda: 1).remote())
    for ref in refs:
        ray.cancel(ref)
    assert not ray.wait(refs, num_returns=400, timeout=LIMIT)[1]
    assert {outcome(ray, ref) for ref in refs} <= {INTERRUPTED, NEVER}
    interrupted = sum(outcome(ray, ref) == INTERRUPTED for ref in refs)
    assert ray.get(waits.count.remote(), timeout=LIMIT) <= interrupted, "more have ended than were told"


def test_loops_of_cancellation_leave_the_workers_usable(ray: Any) -> None:
    """Cancelled at any moment: as they arrive, begin, run, end."""

    @ray.remote
    def short(i: int) -> int:
        return sum(range(i))

    for i in range(150):
        ref = short.remote(i * 100)
        if i % 3:
            time.sleep(i % 7 * 0.0003)
        ray.cancel(ref)
        ray.cancel(ref)
        assert outcome(ray, ref) in (str(sum(range(i * 100))), INTERRUPTED, NEVER)
    assert ray.get([short.remote(3) for _ in range(40)], timeout=LIMIT) == [3] * 40


def test_blocked_in_get_and_in_a_lock(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    def in_get(mark: Path, held: list[Any]) -> None:
        mark.touch()
        ray.get(held[0])

    @ray.remote(num_cpus=0)
    def in_lock(mark: Path) -> None:
        lock = threading.Lock()
        lock.acquire()
        mark.touch()
        lock.acquire()

    slow = ray.remote(loop).remote(tmp_path / "slow")
    refs = [in_get.remote(tmp_path / "get", [slow]), in_lock.remote(tmp_path / "lock")]
    for name in ("get", "lock", "slow"):
        wait_for(tmp_path / name)
    with Calm() as clock:
        for ref in refs:
            ray.cancel(ref)
        assert [outcome(ray, ref) for ref in refs] == [INTERRUPTED, INTERRUPTED]
        assert clock() < 3
    assert not ray.wait([slow], timeout=0)[0], "it was another one's child"
    ray.cancel(slow)


def drops(how: str, mark: Path) -> None:
    """Runs code whose exceptions the interpreter drops, or puts into one of its own, and then goes on for long."""

    class Thing:
        def __set_name__(self, owner: type, name: str) -> None:
            loop(mark)

        def __del__(self) -> None:
            if how == "__del__":
                loop(mark)

    thing: Any = Thing()
    if how == "__set_name__":
        type("Owner", (), {"attribute": thing})
    kept = weakref.ref(thing, lambda _: loop(mark)) if how == "weak reference" else None
    del thing
    loop(mark.with_name("later"))
    del kept


@pytest.mark.parametrize("how", ["weak reference", "__del__", "__set_name__"])
def test_where_the_interpreter_drops_exceptions(ray: Any, tmp_path: Path, how: str) -> None:
    """Each import runs a callback of a weak reference, so this happens to tasks that are cancelled as they begin."""
    ref = ray.remote(max_retries=0)(drops).remote(how, tmp_path / "mark")
    wait_for(tmp_path / "mark")
    ray.cancel(ref)
    assert outcome(ray, ref) == INTERRUPTED
    assert ray.get(ray.remote(lambda: 1).remote(), timeout=LIMIT) == 1


@pytest.mark.parametrize("swallowed", [False, True])
def test_during_an_import(ray: Any, tmp_path: Path, swallowed: bool) -> None:
    """A module that is there by half harms no other task: the process runs none."""
    mark = tmp_path / "begun"
    (tmp_path / "slow_inner.py").write_text(
        f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\nfor _ in range(1000): time.sleep(0.005)\n"
    )
    package = tmp_path / "slow_outer"
    package.mkdir()
    # As in a large library: what is imported first stays in sys.modules when the package itself is taken out.
    (package / "__init__.py").write_text("from .first import value\nimport slow_inner\n")
    (package / "first.py").write_text("value = 1\n")

    @ray.remote(max_retries=0)
    def imports() -> int:
        import sys

        sys.path.insert(0, str(tmp_path))
        try:
            __import__("slow_outer")
        except KeyboardInterrupt:
            if not swallowed:
                raise
        return os.getpid()

    @ray.remote
    def modules() -> tuple[bool, int]:
        import sys

        return any(name.startswith("slow_") for name in sys.modules), os.getpid()

    ref = imports.remote()
    wait_for(mark)
    ray.cancel(ref)
    assert swallowed == outcome(ray, ref).isdigit()
    assert not any(found for found, _ in ray.get([modules.remote() for _ in range(20)], timeout=LIMIT))
