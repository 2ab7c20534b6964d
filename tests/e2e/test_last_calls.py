"""An actor that ends itself while other calls of it run: they end first, and what has not begun never does."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

LIMIT = 60


def leave(how: str) -> None:
    import eagleray

    if how == "exit_actor":
        eagleray.actor.exit_actor()
    sys.exit(0)


class Threads:
    def __init__(self, notes: str) -> None:
        self.notes = Path(notes)
        self.inside = threading.Event()
        self.leaving = threading.Event()

    def runs(self) -> str:
        self.inside.set()
        assert self.leaving.wait(LIMIT)
        for _ in range(30):  # an actor that waited for nobody would be gone meanwhile
            time.sleep(0.01)
        return "ran"

    def waits_for(self, file: str) -> str:
        self.inside.set()
        while not Path(file).exists():
            time.sleep(0.001)
        return "ran"

    def note(self, text: str) -> None:
        with self.notes.open("a") as file:
            file.write(f"{text}\n")

    def leave(self, how: str) -> None:
        assert self.inside.wait(LIMIT)
        self.leaving.set()
        leave(how)


class Coroutines:
    def __init__(self, notes: str) -> None:
        self.notes = Path(notes)
        self.inside = threading.Event()  # loops of groups share it
        self.leaving = threading.Event()

    async def runs(self) -> str:
        self.inside.set()
        while not self.leaving.is_set():
            await asyncio.sleep(0.001)
        for _ in range(30):
            await asyncio.sleep(0.01)
        return "ran"

    async def waits_for(self, file: str) -> str:
        self.inside.set()
        while not Path(file).exists():
            await asyncio.sleep(0.001)
        return "ran"

    async def note(self, text: str) -> None:
        with self.notes.open("a") as file:
            file.write(f"{text}\n")

    async def leave(self, how: str) -> None:
        while not self.inside.is_set():
            await asyncio.sleep(0.001)
        self.leaving.set()
        leave(how)


@pytest.mark.parametrize("how", ["exit_actor", "sys.exit", "__ray_terminate__"])
@pytest.mark.parametrize("kind", [Threads, Coroutines])
@pytest.mark.parametrize("groups", [False, True])
def test_calls_that_run_are_answered_and_others_are_not_begun(
    ray: Any, tmp_path: Path, kind: type, how: str, groups: bool
) -> None:
    notes = tmp_path / "notes"
    limits: dict[str, Any] = {"concurrency_groups": {"work": 1, "end": 1}} if groups else {"max_concurrency": 2}
    actor = ray.remote(**limits)(kind).remote(str(notes))

    def call(method: str, group: str, *args: Any) -> Any:
        bound = getattr(actor, method)
        return (bound.options(concurrency_group=group) if groups else bound).remote(*args)

    if how == "__ray_terminate__":
        ray.get(actor.__ray_ready__.remote(), timeout=LIMIT)
        runs = call("runs", "work")
        # It sets what `runs` waits for, without ending the actor.
        ray.get(actor.__ray_call__.remote(lambda self: self.inside.wait(LIMIT) and self.leaving.set()), timeout=LIMIT)
        ends = actor.__ray_terminate__.remote()
    else:
        runs = call("runs", "work")
        ends = call("leave", "end", how)
    behind = call("note", "work", "behind") if groups else None
    assert ray.get(runs, timeout=LIMIT) == "ran"
    for ref in (ends, behind, call("note", "work", "later")):
        if ref is not None:
            with pytest.raises(ray.exceptions.ActorDiedError):
                ray.get(ref, timeout=LIMIT)
    assert not notes.exists()


def test_a_generator_that_runs_yields_to_its_end(ray: Any) -> None:
    class Yields:
        def __init__(self) -> None:
            self.leaving = threading.Event()

        def items(self) -> Any:
            yield 0
            assert self.leaving.wait(LIMIT)
            for number in range(1, 20):
                time.sleep(0.01)
                yield number

        def leave(self) -> None:
            self.leaving.set()
            leave("exit_actor")

    actor = ray.remote(max_concurrency=2)(Yields).remote()
    items = actor.items.options(num_returns="streaming").remote()
    first = ray.get(next(items), timeout=LIMIT)
    actor.leave.remote()
    assert [first, *(ray.get(ref, timeout=LIMIT) for ref in items)] == list(range(20))


@pytest.mark.parametrize("kind", [Threads, Coroutines])
def test_the_call_that_ends_the_actor_does_not_wait_for_others(ray: Any, tmp_path: Path, kind: type) -> None:
    actor = ray.remote(max_concurrency=2)(kind).remote("unused")
    runs = actor.waits_for.remote(str(tmp_path / "go"))
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.leave.remote("exit_actor"), timeout=LIMIT)
    assert not ray.wait([runs], timeout=0)[0]
    (tmp_path / "go").touch()
    assert ray.get(runs, timeout=LIMIT) == "ran"


def test_two_calls_that_end_the_actor_at_once(ray: Any) -> None:
    class Both:
        def __init__(self) -> None:
            self.meet = threading.Barrier(2)

        def leave(self) -> None:
            self.meet.wait(LIMIT)
            leave("exit_actor")

    actor = ray.remote(max_concurrency=2)(Both).remote()
    for ref in [actor.leave.remote(), actor.leave.remote()]:
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(ref, timeout=LIMIT)
