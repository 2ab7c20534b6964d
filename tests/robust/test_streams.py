"""Generators leave nothing behind, whatever happens to those who make and take their items."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arena import BIG, settles, stats
from processes import until

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    """After each test the store is as empty as before, and so is this process's table."""
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)
    yield
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)


def mixed(n: int) -> Any:
    """Items of all kinds: small, large, with references of the worker's inside."""
    import eagleray

    for i in range(n):
        kind = i % 3
        yield i if kind == 0 else np.full(BIG, i) if kind == 1 else [eagleray.put(np.full(BIG, i)), eagleray.put(i)]


def number(ray: Any, value: Any) -> int:
    """Which item this is."""
    if isinstance(value, list):
        large, small = ray.get(value)
        assert large[0] == small
        return int(small)
    return int(value if isinstance(value, int) else value[0])


def test_taken_to_the_end(ray: Any) -> None:
    make = ray.remote(mixed)
    for limit in (-1, 3):
        gen = make.options(_generator_backpressure_num_objects=limit).remote(60)
        assert [number(ray, ray.get(ref)) for ref in gen] == list(range(60))


def test_taken_in_part(ray: Any) -> None:
    make = ray.remote(mixed)
    for taken in (0, 1, 7):
        for limit in (-1, 2):
            gen = make.options(_generator_backpressure_num_objects=limit).remote(30)
            refs = [next(gen) for _ in range(taken)]
            del gen
            assert [number(ray, value) for value in ray.get(refs)] == list(range(taken))


def test_not_taken_at_all(ray: Any) -> None:
    gen = ray.remote(mixed).remote(30)
    ray.get(gen.completed())
    assert stats()["objects"] >= 20
    del gen
    settles(objects=0, owned=0)


def test_cancelled(ray: Any) -> None:
    make = ray.remote(mixed)
    for force in (False, True):
        gen = make.options(_generator_backpressure_num_objects=4).remote(100_000)
        kept = [next(gen) for _ in range(5)]
        ray.cancel(gen, force=force)
        rest = list(gen)
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(rest[-1])
        assert len(kept) + len(rest) < 20


def test_dynamic(ray: Any) -> None:
    with pytest.warns(DeprecationWarning):
        make = ray.remote(num_returns="dynamic")(mixed)

    @ray.remote
    def total(items: Any) -> int:
        return sum(number(ray, ray.get(item)) for item in items)

    assert ray.get(total.remote(make.remote(30)), timeout=LIMIT) == sum(range(30))
    make.remote(30)
    refs = list(ray.get(make.remote(9)))
    del refs[:5]
    assert number(ray, ray.get(refs[0])) == 5


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_workers_killed_at_random(ray: Any, seed: int, tmp_path: Path) -> None:
    """Each item comes once, in order, although the workers die again and again."""
    chance = random.Random(seed)

    @ray.remote(max_retries=-1)
    def make(name: str, n: int, deaths: list[int]) -> Any:
        path = tmp_path / name
        with path.open("a") as file:
            file.write("x")
        run = path.stat().st_size
        for i, value in enumerate(mixed(n)):
            if run <= len(deaths) and i == deaths[run - 1]:
                os.kill(os.getpid(), signal.SIGKILL)
            yield value

    gens = [
        make.options(_generator_backpressure_num_objects=chance.choice([-1, 5])).remote(
            f"{seed}-{k}", 30, [chance.randrange(30) for _ in range(2 if seed else 1)]
        )
        for k in range(4)
    ]
    wanted = [0] * len(gens)
    open_gens = dict(enumerate(gens))
    while open_gens:
        ready, _ = ray.wait(list(open_gens.values()), timeout=LIMIT)
        assert ready
        for k, gen in list(open_gens.items()):
            if gen not in ready:
                continue
            ref = next(gen, None)
            if ref is None:
                del open_gens[k]
                continue
            value = ray.get(ref, timeout=LIMIT)
            # What an item refers to is its worker's, and gone with it.
            if not isinstance(value, list):
                assert number(ray, value) == wanted[k]
            wanted[k] += 1
            del ref, value
    assert wanted == [30] * 4


def test_an_actor_killed_halfway(ray: Any) -> None:
    @ray.remote(max_concurrency=4, num_cpus=0)
    class A:
        def make(self, n: int) -> Any:
            yield from mixed(n)

    a = A.remote()
    gens = [a.make.options(_generator_backpressure_num_objects=3).remote(50) for _ in range(4)]
    for gen in gens[:3]:
        next(gen)
    ray.kill(a)
    for gen in gens:
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(list(gen)[-1])


def test_a_task_that_leaves_its_generators(ray: Any, tmp_path: Path) -> None:
    """A worker that ends with generators of its own unread: they are closed, also when it moves away."""

    def endless() -> Any:
        try:
            for i in range(1_000_000):
                yield np.full(BIG, i)
        finally:
            tempfile.mkstemp(prefix="closed-", dir=tmp_path)  # one process may run both

    kept: list[Any] = []

    @ray.remote(max_calls=1, num_cpus=0)
    def leaves(shared: bool) -> Any:
        gen = ray.remote(endless).options(num_cpus=0, _generator_backpressure_num_objects=2).remote()
        first = next(gen)
        kept.append(gen)
        return [first] if shared else ray.get(first)[0]

    assert ray.get(leaves.remote(False), timeout=LIMIT) == 0
    until(lambda: len(list(tmp_path.iterdir())) == 1, LIMIT)
    (first,) = ray.get(leaves.remote(True), timeout=LIMIT)
    until(lambda: len(list(tmp_path.iterdir())) == 2, LIMIT)
    assert ray.get(first, timeout=LIMIT)[0] == 0


def test_event_loops(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class A:
        async def make(self, n: int) -> Any:
            for value in mixed(n):
                await asyncio.sleep(0)
                yield value

    a = A.remote()

    async def read(limit: int, taken: int) -> None:
        gen = a.make.options(_generator_backpressure_num_objects=limit).remote(30)
        i = 0
        async for ref in gen:
            assert number(ray, await ref) == i
            i += 1
            if i == taken:
                return
        assert i == 30

    async def main() -> None:
        await asyncio.gather(*(read(limit, taken) for limit in (-1, 1, 4) for taken in (1, 10, 99)))

    asyncio.run(main())
