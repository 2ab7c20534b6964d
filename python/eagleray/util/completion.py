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
        refs: The references, each once.
        chunk_size: How many to wait for at once.
        yield_obj_refs: Whether to yield the references instead of their values.
        **kwargs: More arguments of ``wait``: ``timeout``, after which fewer than ``chunk_size`` are yielded, and
            ``fetch_local``.

    Raises:
        ValueError: ``chunk_size`` is less than 1, or ``num_returns`` is given.
        Exception: a task has raised it.
    """
    _check_chunks(chunk_size, kwargs)
    left = list(refs)
    while left:
        found, left = _next_chunk(left, chunk_size, yield_obj_refs, kwargs)
        yield from found


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
        items: Its arguments, one for each call. They are taken as results are taken.
        backpressure_size: How many calls may be under way; no limit when None.
        chunk_size: How many results to wait for at once.
        yield_obj_refs: Whether to yield references instead of values.
        **kwargs: More arguments of ``wait``, as in ``as_completed``.

    Raises:
        ValueError: ``backpressure_size`` or ``chunk_size`` is less than 1, or ``num_returns`` is given.
        Exception: a call has raised it.
    """
    if backpressure_size is not None and backpressure_size < 1:
        raise ValueError("backpressure_size must be positive.")
    _check_chunks(chunk_size, kwargs)
    under_way: list[Any] = []
    for item in items:
        under_way.append(fn.remote(item))
        if backpressure_size is not None and len(under_way) >= backpressure_size:
            found, under_way = _next_chunk(under_way, chunk_size, yield_obj_refs, kwargs)
            yield from found
    yield from as_completed(under_way, chunk_size=chunk_size, yield_obj_refs=yield_obj_refs, **kwargs)


def _check_chunks(chunk_size: int, kwargs: dict[str, Any]) -> None:
    if chunk_size < 1:
        raise ValueError("`chunk_size` must be >= 1")
    if "num_returns" in kwargs:
        raise ValueError("the argument `chunk_size` takes the place of `num_returns`")


def _next_chunk(refs: list[Any], chunk_size: int, as_refs: bool, kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Waits for a chunk; returns its values, or its references, and the references that are left."""
    ready, left = api.wait(refs, num_returns=min(chunk_size, len(refs)), **kwargs)
    return ready if as_refs else api.get(ready), left
