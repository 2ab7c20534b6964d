"""Generators whose items are read while they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from book import Bench, figure

ITEMS = 1000
SUM = sum(range(ITEMS))


class Source:
    def items(self, count: int) -> Iterator[int]:
        for number in range(count):  # noqa: UP028, Ray sends into the generator, which an iterator does not take
            yield number


class AsyncSource:
    async def items(self, count: int) -> AsyncIterator[int]:
        for number in range(count):
            yield number


def drained(bench: Bench, items: Any) -> float:
    """Items per second of a method or a task that yields numbers, each fetched before the next is asked for."""
    ray = bench.ray

    def read() -> None:
        assert sum(ray.get(ref) for ref in items.remote(ITEMS)) == SUM

    return bench.rate(read, count=ITEMS)


@figure("items of a task that is a generator", "1/s", times=15)
def task_stream(bench: Bench) -> float:
    def items(count: int) -> Iterator[int]:
        for number in range(count):  # noqa: UP028, as above
            yield number

    return drained(bench, bench.ray.remote(items))


@figure("items of an actor's generator", "1/s", times=15)
def actor_stream(bench: Bench) -> float:
    return drained(bench, bench.ray.remote(num_cpus=0)(Source).remote().items)


@figure("items of an async actor's generator, read with async for", "1/s", times=15)
def async_actor_stream(bench: Bench) -> float:
    source = bench.ray.remote(num_cpus=0)(AsyncSource).remote()

    async def read() -> int:
        return sum([await ref async for ref in source.items.remote(ITEMS)])

    def call() -> None:
        assert asyncio.run(read()) == SUM

    return bench.rate(call, count=ITEMS)
