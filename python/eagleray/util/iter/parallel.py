"""``ParallelIterator``: shards, each of which an actor goes through."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from eagleray._private.session import api
from eagleray._private.session.decorator import remote
from eagleray.util.iter.local import LocalIterator, NextValueNotReady
from eagleray.util.iter.worker import ParallelIteratorWorker
from eagleray.util.iter_metrics import SharedMetrics

T = TypeVar("T")
U = TypeVar("U")

_Step = Callable[[LocalIterator[Any]], LocalIterator[Any]]


class ActorSet:
    """Actors of shards, and the steps that they apply."""

    def __init__(self, actors: list[Any], transforms: list[_Step]) -> None:
        self.actors = actors
        self.transforms = transforms

    def init_actors(self) -> None:
        """Lets the actors begin."""
        api.get([actor.par_iter_init.remote(self.transforms) for actor in self.actors])

    def with_transform(self, step: _Step) -> ActorSet:
        """Returns the same actors with one step more."""
        return ActorSet(self.actors, [*self.transforms, step])


class ParallelIterator(Generic[T]):
    """An iterator over data in shards. Its steps run in the shards' actors.

    It can be pickled. One process at a time may read a shard. The functions ``from_*`` make it.

    Args:
        actor_sets: The shards' actors; several sets after ``union``.
        name: What ``repr`` shows.
        parent_iterators: Iterators whose actors are still needed.
    """

    def __init__(self, actor_sets: list[ActorSet], name: str, parent_iterators: list[ParallelIterator[Any]]) -> None:
        self.actor_sets = actor_sets
        self.name = name
        self.parent_iterators = parent_iterators

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "You must use it.gather_sync() or it.gather_async() to iterate over the results of a ParallelIterator."
        )

    def __repr__(self) -> str:
        return f"ParallelIterator[{self.name}]"

    def _with(self, step: _Step, name: str) -> ParallelIterator[Any]:
        sets = [one.with_transform(step) for one in self.actor_sets]
        return ParallelIterator(sets, self.name + name, self.parent_iterators)

    def transform(self, fn: Callable[[Iterable[T]], Iterable[U]]) -> ParallelIterator[U]:
        """Applies a function from iterator to iterator in each shard."""
        return self._with(lambda local: local.transform(fn), ".transform()")

    def for_each(
        self, fn: Callable[[T], U], max_concurrency: int = 1, resources: Mapping[str, Any] | None = None
    ) -> ParallelIterator[U]:
        """Applies a function to each item.

        Args:
            fn: The function.
            max_concurrency: With 1 a shard's calls run in its actor, in order. Otherwise they are tasks, so many at a
                time for each shard (0: all at once), and results come in the order in which they are ready.
            resources: Options of these tasks.
        """
        assert max_concurrency >= 0, "max_concurrency must be non-negative."
        return self._with(lambda local: local.for_each(fn, max_concurrency, resources), ".for_each()")

    def filter(self, fn: Callable[[T], bool]) -> ParallelIterator[T]:
        """Keeps the items for which a function is true."""
        return self._with(lambda local: local.filter(fn), ".filter()")

    def batch(self, n: int) -> ParallelIterator[list[T]]:
        """Makes lists of n items in each shard; the last list may be shorter."""
        return self._with(lambda local: local.batch(n), f".batch({n})")

    def flatten(self) -> ParallelIterator[Any]:
        """Gives the items of each item, one by one."""
        return self._with(lambda local: local.flatten(), ".flatten()")

    def combine(self, fn: Callable[[T], Iterable[U]]) -> ParallelIterator[U]:
        """Applies a function that returns several items, and gives these one by one."""
        made = self.for_each(fn).flatten()
        made.name = self.name + ".combine()"
        return made

    def local_shuffle(self, shuffle_buffer_size: int, seed: int | None = None) -> ParallelIterator[T]:
        """Gives the items of each shard in a random order.

        Args:
            shuffle_buffer_size: From how many items at a time one is drawn.
            seed: Of the random numbers.
        """
        name = f".local_shuffle(shuffle_buffer_size={shuffle_buffer_size}, seed={seed})"
        return self._with(lambda local: local.shuffle(shuffle_buffer_size, seed), name)

    def _begin(self) -> list[Any]:
        """Lets all actors begin and returns them."""
        for one in self.actor_sets:
            one.init_actors()
        return [actor for one in self.actor_sets for actor in one.actors]

    def repartition(self, num_partitions: int, batch_ms: int = 0) -> ParallelIterator[T]:
        """Deals the items to another number of shards, in turns.

        Args:
            num_partitions: The number of the new shards.
            batch_ms: For how many milliseconds an old shard collects items before they are fetched; 0: one item.
        """
        actors = self._begin()

        def partition(place: int) -> Callable[[], Iterator[Any]]:
            def fetch(actor: Any) -> Any:
                return actor.par_iter_slice_batch.remote(step=num_partitions, start=place, batch_ms=batch_ms)

            return lambda: _as_ready(actors, fetch, None)

        worker = remote(ParallelIteratorWorker)
        made = [worker.remote(partition(place), False) for place in range(num_partitions)]
        name = f"{self.name}.repartition[num_partitions={num_partitions}]"
        return ParallelIterator([ActorSet(made, [])], name, [self])

    def gather_sync(self) -> LocalIterator[T]:
        """Returns an iterator over the items of all shards, one of each in turns."""
        made = self.batch_across_shards().flatten()
        made.name = f"{self}.gather_sync()"
        return made

    def batch_across_shards(self) -> LocalIterator[list[T]]:
        """Returns an iterator over lists with the next item of each shard."""

        def items(timeout: float | None = None) -> Iterator[Any]:
            active = self._begin()
            while active:
                refs = [actor.par_iter_next.remote() for actor in active]
                while True:
                    ready, _ = api.wait(refs, num_returns=len(refs), timeout=timeout)
                    if len(ready) == len(refs):
                        break
                    yield NextValueNotReady()
                batch, left = [], []
                for actor, ref in zip(active, refs, strict=True):
                    try:
                        batch.append(api.get(ref))
                        left.append(actor)
                    except StopIteration:
                        pass
                active = left
                if batch:
                    yield batch
                if timeout is not None:
                    yield NextValueNotReady()

        return LocalIterator(items, SharedMetrics(), name=f"{self}.batch_across_shards()")

    def gather_async(self, batch_ms: int = 0, num_async: int = 1) -> LocalIterator[T]:
        """Returns an iterator over the items of all shards in the order in which they are ready.

        Args:
            batch_ms: For how many milliseconds a shard collects items before they are fetched; 0: one item.
            num_async: How many fetches of a shard are under way at a time.

        Raises:
            ValueError: a number is too small.
        """
        _check_numbers("queue depth", num_async, batch_ms)

        def items(timeout: float | None = None) -> Iterator[Any]:
            def came_from(actor: Any) -> None:
                made.shared_metrics.get().current_actor = actor

            actors = self._begin() * num_async
            yield from _as_ready(actors, lambda actor: actor.par_iter_next_batch.remote(batch_ms), timeout, came_from)

        made: LocalIterator[T] = LocalIterator(items, SharedMetrics(), name=f"{self}.gather_async()")
        return made

    def take(self, n: int) -> list[T]:
        """Returns the first n items, or all if there are fewer."""
        return self.gather_sync().take(n)

    def show(self, n: int = 20) -> None:
        """Prints the first n items."""
        self.gather_sync().show(n)

    def union(self, other: ParallelIterator[T]) -> ParallelIterator[T]:
        """Returns an iterator over the shards of both.

        Raises:
            TypeError: the other one is no ParallelIterator.
        """
        if not isinstance(other, ParallelIterator):
            raise TypeError(f"other must be of type ParallelIterator, got {type(other)}")
        return ParallelIterator(
            [*self.actor_sets, *other.actor_sets],
            f"ParallelUnion[{self}, {other}]",
            self.parent_iterators + other.parent_iterators,
        )

    def select_shards(self, shards_to_keep: Sequence[int]) -> ParallelIterator[T]:
        """Returns an iterator over some of the shards.

        Raises:
            ValueError: the iterator is a union, or there is nothing to keep.
        """
        if len(self.actor_sets) > 1:
            raise ValueError("select_shards() is not allowed after union()")
        if not shards_to_keep:
            raise ValueError("at least one shard must be selected")
        (old,) = self.actor_sets
        kept = [actor for place, actor in enumerate(old.actors) if place in shards_to_keep]
        assert len(kept) == len(shards_to_keep), "Invalid actor index"
        name = f"{self}.select_shards({len(shards_to_keep)} total)"
        return ParallelIterator([ActorSet(kept, old.transforms)], name, self.parent_iterators)

    def num_shards(self) -> int:
        """Returns the number of shards."""
        return sum(len(one.actors) for one in self.actor_sets)

    def shards(self) -> list[LocalIterator[T]]:
        """Returns an iterator for each shard."""
        return [self.get_shard(place) for place in range(self.num_shards())]

    def get_shard(self, shard_index: int, batch_ms: int = 0, num_async: int = 1) -> LocalIterator[T]:
        """Returns an iterator over one shard. It can be pickled.

        Args:
            shard_index: The number of the shard, from 0.
            batch_ms: For how many milliseconds the shard collects items before they are fetched; 0: one item.
            num_async: How many fetches are under way at a time.

        Raises:
            ValueError: there is no such shard, or a number is too small.
        """
        _check_numbers("num async", num_async, batch_ms)
        found = [(actor, one.transforms) for one in self.actor_sets for actor in one.actors]
        if not 0 <= shard_index < len(found):
            raise ValueError("Shard index out of range", shard_index, self.num_shards())
        shard, transforms = found[shard_index]

        def items(timeout: float | None = None) -> Iterator[Any]:
            api.get(shard.par_iter_init.remote(transforms))
            refs = collections.deque(shard.par_iter_next_batch.remote(batch_ms) for _ in range(num_async))
            while True:
                while timeout is not None and not api.wait([refs[0]], timeout=timeout)[0]:
                    yield NextValueNotReady()
                try:
                    batch = api.get(refs.popleft())
                except StopIteration:
                    return
                refs.append(shard.par_iter_next_batch.remote(batch_ms))
                yield from batch
                if timeout is not None:
                    yield NextValueNotReady()

        return LocalIterator(items, SharedMetrics(), name=f"{self.name}.shard[{shard_index}]")


def _check_numbers(what: str, num_async: int, batch_ms: int) -> None:
    if num_async < 1:
        raise ValueError(f"{what} must be positive, got {num_async}")
    if batch_ms < 0:
        raise ValueError(f"batch time must be positive or 0, got {batch_ms}")


def _as_ready(
    actors: Sequence[Any],
    fetch: Callable[[Any], Any],
    timeout: float | None,
    came_from: Callable[[Any], None] = lambda actor: None,
) -> Iterator[Any]:
    """Gives items in the order in which they are ready.

    Args:
        actors: Who has them; an actor that is named twice has two fetches under way.
        fetch: Asks an actor for its next items.
        timeout: Seconds to wait for items, after which a ``NextValueNotReady`` comes; None: without an end.
        came_from: Called with the actor of items before they come.
    """
    pending = {fetch(actor): actor for actor in actors}
    while pending:
        refs = list(pending)
        ready, _ = api.wait(refs, num_returns=len(refs), timeout=0 if timeout is None else timeout)
        if timeout is None and not ready:
            ready, _ = api.wait(refs, num_returns=1)
        for ref in ready:
            actor = pending.pop(ref)
            came_from(actor)
            try:
                batch = api.get(ref)
            except StopIteration:
                continue
            pending[fetch(actor)] = actor
            yield from batch
        if timeout is not None:
            yield NextValueNotReady()
