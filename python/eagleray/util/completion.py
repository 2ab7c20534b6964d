"""Results in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from eagleray._private.session import api


def as_completed(
    refs: Sequence[Any], *, chunk_size: int = 10, yield_obj_refs: bool = False, **kwargs: Any
) -> Iterator[Any]:
    """Yields the values of references as they are ready.

    Args:
        refs: The references.
        chunk_size: How many to fetch at once.
        yield_obj_refs: Whether to yield the references instead of their values.
        **kwargs: More arguments of ``wait``.
    """
    if chunk_size < 1:
        raise ValueError("`chunk_size` must be >= 1")
    left = list(refs)
    while left:
        ready, left = api.wait(left, num_returns=min(chunk_size, len(left)), **kwargs)
        yield from ready if yield_obj_refs else api.get(ready)


def map_unordered(
    fn: Any,
    items: Iterable[Any],
    *,
    backpressure_size: int | None = 100,
    chunk_size: int = 10,
    yield_obj_refs: bool = False,
    **kwargs: Any,
) -> Iterator[Any]:
    """Runs a remote function for each item and yields the results as they are ready.

    Args:
        fn: The remote function.
        items: Its arguments, one for each call.
        backpressure_size: How many calls may be under way; no limit when None.
        chunk_size: How many results to fetch at once.
        yield_obj_refs: Whether to yield references instead of values.
        **kwargs: More arguments of ``wait``.
    """
    if backpressure_size is None:
        backpressure_size = 1 << 62
    elif backpressure_size < chunk_size:
        raise ValueError(f"backpressure_size {backpressure_size} must be at least chunk_size {chunk_size}")
    under_way: list[Any] = []
    for item in items:
        under_way.append(fn.remote(item))
        if len(under_way) >= backpressure_size:
            ready, under_way = api.wait(under_way, num_returns=min(chunk_size, len(under_way)), **kwargs)
            yield from ready if yield_obj_refs else api.get(ready)
    yield from as_completed(under_way, chunk_size=chunk_size, yield_obj_refs=yield_obj_refs, **kwargs)
