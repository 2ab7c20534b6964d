"""References to items that have not come, and what a worker sends to a generator that takes it."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from pace import until

PATIENCE_S = 30.0


class Streams:
    def __init__(self) -> None:
        self.event = threading.Event()

    def held(self, first: int) -> Any:
        yield from range(first)
        self.event.wait(60)
        yield first

    def open(self) -> None:
        self.event.set()


@pytest.fixture
def streams(ray: Any) -> Any:
    return ray.remote(num_cpus=0, max_concurrency=2)(Streams).remote()


def test_references_to_items_that_come_later(ray: Any, streams: Any) -> None:
    stream = streams.held.remote(2)
    ahead = stream._get_next_ref_n(5)
    assert ray.get(ahead[:2], timeout=PATIENCE_S) == [0, 1]
    assert ray.wait(ahead[2:], timeout=0.2)[0] == []
    with pytest.raises(ValueError, match="not all of these items are there"):
        stream._consume_next_ref_n(3)
    assert stream._get_next_ref_n(1) == ahead[:1] and stream._get_next_object_id_binary() == ahead[0].binary()
    streams.open.remote()
    assert ray.get(ahead[2], timeout=PATIENCE_S) == 2
    for ref in ahead[3:]:
        with pytest.raises(ray.exceptions.ObjectRefStreamEndOfStreamError):
            ray.get(ref, timeout=PATIENCE_S)
    stream._consume_next_ref_n(2)
    assert next(stream) == ahead[2] and stream._stream_exhausted()
    stream._consume_next_ref_n(1)
    with pytest.raises(StopIteration):
        next(stream)


def test_a_generator_whose_worker_dies_ends_all_references(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def dies() -> Any:
        yield 0
        os._exit(1)

    stream = dies.remote()
    ahead = stream._get_next_ref_n(3)
    assert ray.get(ahead[0], timeout=PATIENCE_S) == 0
    for ref in ahead[1:]:
        with pytest.raises(ray.exceptions.RayError):
            ray.get(ref, timeout=PATIENCE_S)


def test_references_ahead_may_go_before_their_items(ray: Any, streams: Any) -> None:
    stream = streams.held.remote(1)
    del stream._get_next_ref_n(3)[:]
    streams.open.remote()
    assert [ray.get(ref, timeout=PATIENCE_S) for ref in stream] == [0, 1]
    again = streams.held.remote(2)
    ahead = again._get_next_ref_n(4)
    del again
    assert ray.get(ahead[0], timeout=PATIENCE_S) == 0
    with pytest.raises(ray.exceptions.RayError):
        ray.get(ahead[3], timeout=PATIENCE_S)


@pytest.mark.parametrize("number", [0, -1])
def test_numbers_that_are_not_positive_are_refused(ray: Any, streams: Any, number: int) -> None:
    stream = streams.held.remote(0)
    with pytest.raises(ValueError, match="must be a positive number"):
        stream._get_next_ref_n(number)
    with pytest.raises(ValueError, match="must be a positive number"):
        stream._consume_next_ref_n(number)
    streams.open.remote()


def sends(values: Any) -> Any:
    """A generator that yields what it was sent."""
    found = yield values
    yield type(found).__name__, found.object_creation_dur_s > 0
    yield from inner()
    yield from range(2)  # takes nothing


def inner() -> Any:
    found = yield "inner"
    yield type(found).__name__


WANTED = ["first", ("StreamingGeneratorStats", True), "inner", "StreamingGeneratorStats", 0, 1]


def test_a_generator_takes_how_long_its_item_took(ray: Any) -> None:
    assert [ray.get(ref) for ref in ray.remote(sends).remote("first")] == WANTED


def test_generators_of_actors_take_it(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Actor:
        def plain(self) -> Any:
            yield from sends("first")

        async def coroutine(self) -> Any:
            found = yield "first"
            yield type(found).__name__, found.object_creation_dur_s > 0
            await asyncio.sleep(0)
            found = yield
            yield type(found).__name__

    actor = Actor.remote()
    assert [ray.get(ref) for ref in actor.plain.remote()] == WANTED
    assert [ray.get(ref) for ref in actor.coroutine.remote()] == [*WANTED[:2], None, WANTED[3]]


def test_errors_and_ends_of_generators_that_take_something(ray: Any, tmp_path: Path) -> None:
    @ray.remote
    def fails() -> Any:
        found = yield 1
        raise KeyError(type(found).__name__)

    stream = fails.remote()
    first, last = list(stream)
    assert ray.get(first) == 1
    with pytest.raises(KeyError, match="StreamingGeneratorStats") as raised:
        ray.get(last)
    assert "in fails" in str(raised.value) and "stream.py" not in str(raised.value)

    @ray.remote
    def ends(path: str) -> Any:
        try:
            while True:
                found = yield 1
                assert found is not None
        finally:
            with open(path, "w") as file:
                file.write("closed")

    closed = tmp_path / "closed"
    stream = ends.options(_generator_backpressure_num_objects=1).remote(str(closed))
    assert ray.get(next(stream)) == 1
    del stream
    until(closed.exists, "the generator is closed")
