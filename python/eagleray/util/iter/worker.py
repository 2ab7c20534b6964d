"""``ParallelIteratorWorker``: what the actor of a shard does."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from eagleray.util.iter.local import LocalIterator
from eagleray.util.iter_metrics import SharedMetrics


class ParallelIteratorWorker:
    """The class of a shard's actor. Classes of actors for ``from_actors`` extend it.

    Args:
        item_generator: An iterable, or a function that returns one.
        repeat: Whether to begin again at the end, for ever. A generator cannot, a function that returns one can.
    """

    def __init__(self, item_generator: Any, repeat: bool) -> None:
        def items() -> Any:
            return item_generator() if callable(item_generator) else item_generator

        def cycle() -> Iterator[Any]:
            while True:
                found = iter(items())
                if found is item_generator:
                    raise ValueError(
                        f"Cannot iterate over {item_generator} multiple times: pass the iterable that it is made from, "
                        "or a function that returns it"
                    )
                yield from found

        self.item_generator: Any = cycle() if repeat else items()
        self.local_it: Iterator[Any] | None = None
        self.next_ith_buffer: collections.defaultdict[int, collections.deque[Any]] | None = None

    def par_iter_init(self, transforms: Sequence[Callable[[LocalIterator[Any]], LocalIterator[Any]]]) -> None:
        """Begins, with the steps of the iterator."""
        made: LocalIterator[Any] = LocalIterator(lambda timeout: self.item_generator, SharedMetrics())
        for step in transforms:
            made = step(made)
        self.local_it = iter(made)

    def par_iter_next(self) -> Any:
        """Returns the next item; raises StopIteration at the end."""
        assert self.local_it is not None, "must call par_iter_init()"
        return next(self.local_it)

    def par_iter_next_batch(self, batch_ms: int) -> list[Any]:
        """Returns the items of so many milliseconds, one with 0; raises StopIteration at the end."""
        return self._batch(self.par_iter_next, batch_ms)

    def par_iter_slice(self, step: int, start: int) -> Any:
        """Returns the next of each ``step``-th item from ``start`` on; raises StopIteration at the end."""
        assert self.local_it is not None, "must call par_iter_init()"
        if self.next_ith_buffer is None:
            self.next_ith_buffer = collections.defaultdict(collections.deque)
        own = self.next_ith_buffer[start]
        if not own:
            for place in range(step):
                try:
                    item = next(self.local_it)
                except StopIteration:
                    break
                self.next_ith_buffer[place].append(item)
        if not own:
            raise StopIteration
        return own.popleft()

    def par_iter_slice_batch(self, step: int, start: int, batch_ms: int) -> list[Any]:
        """Returns such items of so many milliseconds, one with 0; raises StopIteration at the end."""
        return self._batch(lambda: self.par_iter_slice(step, start), batch_ms)

    def _batch(self, take: Callable[[], Any], batch_ms: int) -> list[Any]:
        if batch_ms == 0:
            return [take()]
        batch = []
        end = time.monotonic() + batch_ms / 1000
        while time.monotonic() < end:
            try:
                batch.append(take())
            except StopIteration:
                if not batch:
                    raise
                break
        return batch
