"""``LocalIterator``: an iterator in this process whose steps are functions that can be pickled."""

from __future__ import annotations

import collections
import contextlib
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from eagleray._private.session import api
from eagleray._private.session.decorator import remote
from eagleray.util.iter_metrics import MetricsContext, SharedMetrics

T = TypeVar("T")
U = TypeVar("U")

#: How many items a union takes at a time from an iterator with the weight "*".
_MOST_AT_ONCE = 100


class NextValueNotReady:
    """Comes in the place of an item when the time for it is over. Functions of ``transform`` pass it on."""


class LocalIterator(Generic[T]):
    """Iterates over one shard, or over several that were gathered. Each step is applied in this process.

    It can be pickled until it has begun, and one process at a time may read it. Methods of the API make it.

    Args:
        base_iterator: Makes the iterator of the items, from the seconds that may pass until an item is there.
        shared_metrics: The metrics of the chain.
        local_transforms: The steps, each a function from iterator to iterator.
        timeout: Seconds after which a ``NextValueNotReady`` comes; None: never.
        name: What ``repr`` shows.
    """

    #: A function for ``for_each`` may have a method of this name, which is called before an item is fetched for it.
    ON_FETCH_START_HOOK_NAME: ClassVar[str] = "_on_fetch_start"
    thread_local: ClassVar[threading.local] = threading.local()

    def __init__(
        self,
        base_iterator: Callable[..., Iterable[Any]],
        shared_metrics: SharedMetrics,
        local_transforms: Sequence[Callable[[Iterator[Any]], Iterator[Any]]] = (),
        timeout: float | None = None,
        name: str | None = None,
    ) -> None:
        self.base_iterator = base_iterator
        self.shared_metrics = shared_metrics
        self.local_transforms: list[Callable[[Iterator[Any]], Iterator[Any]]] = list(local_transforms)
        self.timeout = timeout
        self.name: str = name or "unknown"
        self.built_iterator: Iterator[Any] | None = None

    @staticmethod
    def get_metrics() -> MetricsContext:
        """Returns the metrics of the chain. Only functions of an iterator may call it.

        Raises:
            ValueError: it is called elsewhere.
        """
        found: MetricsContext | None = getattr(LocalIterator.thread_local, "metrics", None)
        if found is None:
            raise ValueError("Cannot access context outside an iterator.")
        return found

    @contextlib.contextmanager
    def _metrics_context(self) -> Iterator[None]:
        self.thread_local.metrics = self.shared_metrics.get()
        yield

    def _built(self) -> Iterator[Any]:
        if self.built_iterator is None:
            made = iter(self.base_iterator(self.timeout))
            for step in self.local_transforms:
                made = iter(step(made))
            self.built_iterator = made
        return self.built_iterator

    def __iter__(self) -> Iterator[T]:
        return self._built()

    def __next__(self) -> T:
        item: T = next(self._built())
        return item

    def __repr__(self) -> str:
        return f"LocalIterator[{self.name}]"

    def _with(self, step: Callable[[Iterator[Any]], Iterator[Any]], name: str) -> LocalIterator[Any]:
        return LocalIterator(
            self.base_iterator, self.shared_metrics, [*self.local_transforms, step], name=self.name + name
        )

    def transform(self, fn: Callable[[Iterable[T]], Iterable[U]]) -> LocalIterator[U]:
        """Applies a function from iterator to iterator. It has to pass on each ``NextValueNotReady``."""

        def step(items: Iterator[T]) -> Iterator[U]:
            made = iter(fn(items))
            while True:
                with self._metrics_context():
                    try:
                        item = next(made)
                    except StopIteration:
                        return
                yield item

        return self._with(step, ".transform()")

    def for_each(
        self, fn: Callable[[T], U], max_concurrency: int = 1, resources: Mapping[str, Any] | None = None
    ) -> LocalIterator[U]:
        """Applies a function to each item.

        Args:
            fn: The function.
            max_concurrency: With 1 the calls run here, in order. Otherwise they are tasks, so many at a time (0: all at
                once), and results come in the order in which they are ready.
            resources: Options of these tasks.
        """
        if max_concurrency == 1:
            step = self._called_here(fn)
        else:
            step = _called_in_tasks(fn, max_concurrency, dict(resources or {}))
        if hasattr(fn, self.ON_FETCH_START_HOOK_NAME):
            step = self._told_of_fetches(fn, step)
        return self._with(step, ".for_each()")

    def _called_here(self, fn: Callable[[T], U]) -> Callable[[Iterator[Any]], Iterator[Any]]:
        def step(items: Iterator[Any]) -> Iterator[Any]:
            for item in items:
                if isinstance(item, NextValueNotReady):
                    yield item
                    continue
                while True:  # a function may say that it has no result yet: it is called again
                    with self._metrics_context():
                        result = fn(item)
                    yield result
                    if not isinstance(result, NextValueNotReady):
                        break

        return step

    def _told_of_fetches(
        self, fn: Any, step: Callable[[Iterator[Any]], Iterator[Any]]
    ) -> Callable[[Iterator[Any]], Iterator[Any]]:
        def told(items: Iterator[Any]) -> Iterator[Any]:
            results = step(items)
            fetching = False
            while True:
                if not fetching:
                    with self._metrics_context():
                        getattr(fn, self.ON_FETCH_START_HOOK_NAME)()
                try:
                    item = next(results)
                except StopIteration:
                    return
                fetching = isinstance(item, NextValueNotReady)
                yield item

        return told

    def filter(self, fn: Callable[[T], bool]) -> LocalIterator[T]:
        """Keeps the items for which a function is true."""

        def step(items: Iterator[Any]) -> Iterator[Any]:
            for item in items:
                with self._metrics_context():
                    kept = isinstance(item, NextValueNotReady) or fn(item)
                if kept:
                    yield item

        return self._with(step, ".filter()")

    def batch(self, n: int) -> LocalIterator[list[T]]:
        """Makes lists of n items; the last list may be shorter."""

        def step(items: Iterator[Any]) -> Iterator[Any]:
            batch: list[Any] = []
            for item in items:
                if isinstance(item, NextValueNotReady):
                    yield item
                    continue
                batch.append(item)
                if len(batch) >= n:
                    yield batch
                    batch = []
            if batch:
                yield batch

        return self._with(step, f".batch({n})")

    def flatten(self) -> LocalIterator[Any]:
        """Gives the items of each item, one by one."""

        def step(items: Iterator[Any]) -> Iterator[Any]:
            for item in items:
                if isinstance(item, NextValueNotReady):
                    yield item
                else:
                    yield from item

        return self._with(step, ".flatten()")

    def shuffle(self, shuffle_buffer_size: int, seed: int | None = None) -> LocalIterator[T]:
        """Gives the items in a random order.

        Args:
            shuffle_buffer_size: From how many items at a time one is drawn.
            seed: Of the random numbers.
        """
        numbers = random.Random(seed)

        def drawn(buffer: list[Any]) -> Any:
            return buffer.pop(numbers.randint(0, len(buffer) - 1))

        def step(items: Iterator[Any]) -> Iterator[Any]:
            buffer: list[Any] = []
            for item in items:
                if isinstance(item, NextValueNotReady):
                    yield item
                    continue
                buffer.append(item)
                if len(buffer) >= shuffle_buffer_size:
                    yield drawn(buffer)
            while buffer:
                yield drawn(buffer)

        return self._with(step, f".shuffle(shuffle_buffer_size={shuffle_buffer_size}, seed={seed})")

    def combine(self, fn: Callable[[T], Iterable[U]]) -> LocalIterator[U]:
        """Applies a function that returns several items, and gives these one by one."""
        return self._named(self.for_each(fn).flatten(), ".combine()")

    def zip_with_source_actor(self) -> LocalIterator[tuple[Any, T]]:
        """Gives each item with the actor that made it, after ``gather_async``."""

        def pair(item: T) -> tuple[Any, T]:
            actor = LocalIterator.get_metrics().current_actor
            if actor is None:
                raise ValueError("Could not identify source actor of item")
            return actor, item

        return self._named(self.for_each(pair), ".zip_with_source_actor()")

    def _named(self, made: LocalIterator[Any], name: str) -> LocalIterator[Any]:
        made.name = self.name + name
        return made

    def take(self, n: int) -> list[T]:
        """Returns the first n items, or all if there are fewer."""
        taken: list[T] = []
        for item in self:
            taken.append(item)
            if len(taken) >= n:
                break
        return taken

    def show(self, n: int = 20) -> None:
        """Prints the first n items."""
        for item in self.take(n):
            print(item)

    def duplicate(self, n: int) -> list[LocalIterator[T]]:
        """Returns n iterators that each give all items. Those that are ahead wait for those behind them.

        Raises:
            ValueError: n is below 2.
        """
        if n < 2:
            raise ValueError("Number of copies must be >= 2")
        queues: list[collections.deque[Any]] = [collections.deque() for _ in range(n)]

        def base(own: collections.deque[Any]) -> Callable[[float | None], Iterator[Any]]:
            def items(timeout: float | None) -> Iterator[Any]:
                while True:
                    if len(own) < max(map(len, queues)):
                        yield NextValueNotReady()  # the others catch up first
                        continue
                    if not own:
                        self.timeout = timeout
                        try:
                            item = next(self)
                        except StopIteration:
                            return
                        for queue in queues:
                            queue.append(item)
                    yield own.popleft()

            return items

        return [
            LocalIterator(base(queue), self.shared_metrics, name=f"{self.name}.duplicate[{i}]")
            for i, queue in enumerate(queues)
        ]

    def union(
        self,
        *others: LocalIterator[T],
        deterministic: bool = False,
        round_robin_weights: Sequence[float | str] | None = None,
    ) -> LocalIterator[T]:
        """Returns an iterator over the items of several.

        Args:
            others: The other iterators.
            deterministic: Whether one item of each comes in turns; otherwise items come as they are ready.
            round_robin_weights: How many items of each come in a turn; "*" for as many as are ready.

        Raises:
            ValueError: one of the others is no LocalIterator, or the number of weights is not that of the iterators.
        """
        for other in others:
            if not isinstance(other, LocalIterator):
                raise ValueError(f"other must be of type LocalIterator, got {type(other)}")
        parents = [self, *others]
        if round_robin_weights is not None and len(round_robin_weights) != len(parents):
            raise ValueError("Length of round robin weights must equal number of iterators total.")
        shared = SharedMetrics(parents=[parent.shared_metrics for parent in parents])
        weights: list[float | str] = list(round_robin_weights or [1] * len(parents))
        waits = [weight != "*" if round_robin_weights else deterministic for weight in weights]
        active = [
            (
                weight,
                LocalIterator[Any](parent.base_iterator, shared, parent.local_transforms, timeout=None if wait else 0),
            )
            for weight, wait, parent in zip(weights, waits, parents, strict=True)
        ]

        def items(timeout: float | None = None) -> Iterator[Any]:
            while active:
                for pair in list(active):
                    weight, one = pair
                    for _ in range(_MOST_AT_ONCE if weight == "*" else _randomly_rounded(float(weight))):
                        try:
                            item = next(one)
                        except StopIteration:
                            active.remove(pair)
                            break
                        if not isinstance(item, NextValueNotReady):
                            yield item
                            continue
                        if timeout is not None:
                            yield item
                        break

        return LocalIterator(items, shared, name=f"LocalUnion[{self}, {', '.join(map(str, others))}]")


def _called_in_tasks(
    fn: Callable[[Any], Any], most: int, options: dict[str, Any]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def step(items: Iterator[Any]) -> Iterator[Any]:
        task: Any = remote(fn)
        submit = (task.options(**options) if options else task).remote
        running: list[Any] = []
        for item in items:
            if isinstance(item, NextValueNotReady):
                yield item
                continue
            if most and len(running) >= most:
                ready, running = api.wait(running)
                yield from api.get(ready)
            running.append(submit(item))
        while running:
            ready, running = api.wait(running)
            yield from api.get(ready)

    return step


def _randomly_rounded(weight: float) -> int:
    """Returns a whole number whose average is the weight."""
    whole = int(weight)
    return whole + (random.random() < weight - whole)
