"""Generators and sessions that follow one another in one program."""

from __future__ import annotations

from typing import Any

from declared import SHARED


def test_a_generator_of_a_session_that_has_ended_takes_none_of_the_next_session_along(fresh: Any) -> None:
    @fresh.remote
    def count(n: int) -> Any:
        yield from range(n)

    fresh.init(address="local", **SHARED)
    old = [count.remote(2) for _ in range(8)]
    fresh.get([stream.completed() for stream in old])
    fresh.shutdown()
    fresh.init(address="local", **SHARED)
    new = [count.remote(2) for _ in range(8)]
    del old
    assert [[fresh.get(item) for item in stream] for stream in new] == [[0, 1]] * 8
