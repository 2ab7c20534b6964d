"""The actor option ``exclusive`` on one machine: its types, its token, and that actors work with it as without."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

LIMIT = 60.0


def test_exclusive_is_a_bool_and_an_option_of_actors(ray: Any) -> None:
    def function() -> None: ...

    class Actor: ...

    with pytest.raises(
        ValueError, match=r"Invalid option keyword 'exclusive' for remote functions \(it is one of actors\)"
    ):
        ray.remote(exclusive=True)(function)
    with pytest.raises(ValueError, match="Invalid option keyword 'exclusive' for remote functions"):
        ray.remote(function).options(exclusive=True)
    for wrong in (1, "yes"):
        with pytest.raises(TypeError, match="'exclusive'"):
            ray.remote(exclusive=wrong)(Actor)
        with pytest.raises(TypeError, match="'exclusive'"):
            ray.remote(Actor).options(exclusive=wrong)
    assert ray.get_runtime_context().get_actor_incarnation() is None


def classes(ray: Any, path: str) -> dict[str, Any]:
    def note() -> int:
        token: int = ray.get_runtime_context().get_actor_incarnation()
        with open(path, "a") as file:
            file.write(f"{token}\n")
        return token

    class Plain:
        def call(self) -> int:
            return note()

    class Async:
        async def call(self) -> int:
            return note()

    class Items:
        def call(self) -> Any:
            for _ in range(3):
                yield note()

    return {"plain": Plain, "threads": Plain, "async": Async, "items": Items}


@pytest.mark.parametrize("kind", ["plain", "threads", "async", "items"])
def test_tokens_rise_with_each_restart(ray: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "calls"
    options = {"exclusive": True, "max_restarts": -1, "max_task_retries": -1, "num_cpus": 0}
    if kind == "threads":
        options["max_concurrency"] = 3
    actor = ray.remote(**options)(classes(ray, str(path))[kind]).remote()

    def calls(n: int) -> list[int]:
        made = [actor.call.remote() for _ in range(n)]
        if kind == "items":
            return [ray.get(ref) for stream in made for ref in stream]
        return list(ray.get(made, timeout=LIMIT))

    assert set(calls(20)) == {1}
    for _ in range(3):
        waiting = [actor.call.remote() for _ in range(50)]
        ray.kill(actor, no_restart=False)
        del waiting
        calls(5)
    tokens = [int(line) for line in path.read_text().split()]
    assert tokens == sorted(tokens)
    assert tokens[0] == 1 and tokens[-1] == 4, tokens


def test_an_actor_that_is_not_exclusive_has_the_token_too(ray: Any) -> None:
    class Actor:
        def token(self) -> int:
            number: int = ray.get_runtime_context().get_actor_incarnation()
            return number

    actor = ray.remote(Actor).options(exclusive=False, max_restarts=1).remote()
    assert ray.get(actor.token.remote()) == 1
    ray.kill(actor, no_restart=False)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            assert ray.get(actor.token.remote()) == 2
            return
        except ray.exceptions.ActorUnavailableError:
            continue
    pytest.fail("the actor does not restart")
