"""Parallel iterators: data in shards, each of which an actor goes through.

Ray calls them deprecated. New programs do the same with generators and ``num_returns="streaming"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from eagleray._private.session.decorator import remote
from eagleray.util.iter.local import LocalIterator as LocalIterator
from eagleray.util.iter.local import NextValueNotReady as _NextValueNotReady
from eagleray.util.iter.parallel import ActorSet as _ActorSet
from eagleray.util.iter.parallel import ParallelIterator as ParallelIterator
from eagleray.util.iter.worker import ParallelIteratorWorker as ParallelIteratorWorker
from eagleray.util.iter_metrics import MetricsContext as MetricsContext
from eagleray.util.iter_metrics import SharedMetrics as SharedMetrics

T = TypeVar("T")

__all__ = [
    "LocalIterator",
    "MetricsContext",
    "ParallelIterator",
    "ParallelIteratorWorker",
    "SharedMetrics",
    "_NextValueNotReady",
    "from_actors",
    "from_items",
    "from_iterators",
    "from_range",
]


def from_items(items: Sequence[T], num_shards: int = 2, repeat: bool = False) -> ParallelIterator[T]:
    """Returns an iterator over items, which are dealt to the shards in turns.

    Args:
        items: The items.
        num_shards: The number of actors.
        repeat: Whether each shard begins again at its end, for ever.
    """
    shards: list[list[T]] = [list(items[first::num_shards]) for first in range(num_shards)]
    kind = type(items[0]).__name__ if items else "None"
    return from_iterators(shards, repeat, f"from_items[{kind}, {len(items)}, shards={num_shards}{_ending(repeat)}]")


def from_range(n: int, num_shards: int = 2, repeat: bool = False) -> ParallelIterator[int]:
    """Returns an iterator over 0 to n - 1; each shard has one stretch of it, and the last one the rest.

    Args:
        n: The number behind the last one.
        num_shards: The number of actors.
        repeat: Whether each shard begins again at its end, for ever.
    """
    size = n // num_shards
    ends = [*(size * shard for shard in range(1, num_shards)), n]
    ranges = [range(size * shard, end) for shard, end in enumerate(ends)]
    return from_iterators(ranges, repeat, f"from_range[{n}, shards={num_shards}{_ending(repeat)}]")


def from_iterators(
    generators: Sequence[Iterable[T] | Callable[[], Iterable[T]]], repeat: bool = False, name: str | None = None
) -> ParallelIterator[T]:
    """Returns an iterator with one shard for each iterable.

    Args:
        generators: Iterables, or functions that return one: generators cannot be pickled, functions can.
        repeat: Whether each shard begins again at its end, for ever.
        name: What ``repr`` shows.
    """
    worker = remote(ParallelIteratorWorker)
    actors = [worker.remote(one, repeat) for one in generators]
    return from_actors(actors, name or f"from_iterators[shards={len(generators)}{_ending(repeat)}]")


def from_actors(actors: Sequence[Any], name: str | None = None) -> ParallelIterator[Any]:
    """Returns an iterator over what actors give.

    Args:
        actors: Actors whose class extends ``ParallelIteratorWorker``.
        name: What ``repr`` shows.
    """
    return ParallelIterator([_ActorSet(list(actors), [])], name or f"from_actors[shards={len(actors)}]", [])


def _ending(repeat: bool) -> str:
    return ", repeat=True" if repeat else ""
