"""Constructors that are coroutines, and the classes that cannot become actors."""

from __future__ import annotations

import abc
import asyncio
from typing import Any

import pytest


def test_a_coroutine_constructs_the_actor_before_its_first_call(ray: Any) -> None:
    @ray.remote
    def five() -> int:
        return 5

    @ray.remote(num_cpus=0)
    class Actor:
        async def __init__(self, x: int, *, y: int = 0) -> None:  # type: ignore[misc]
            self.steps = ["begins"]
            self.x = x + await five.remote()
            await asyncio.sleep(0.05)
            self.steps.append(f"ends {y}")

        def plain(self) -> list[str]:
            return self.steps

        async def coroutine(self) -> tuple[int, bool]:
            return self.x, asyncio.get_running_loop().is_running()

    actor = Actor.remote(1, y=2)
    refs = [actor.plain.remote(), actor.coroutine.remote(), actor.__ray_ready__.remote()]
    assert ray.get(refs, timeout=60) == [["begins", "ends 2"], (6, True), True]


def test_a_coroutine_that_raises_is_the_cause_of_the_actors_death(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Actor:
        async def __init__(self) -> None:  # type: ignore[misc]
            await asyncio.sleep(0)
            raise KeyError("constructor")

        def plain(self) -> int:
            return 1

    with pytest.raises(ray.exceptions.ActorDiedError, match="KeyError: 'constructor'") as raised:
        ray.get(Actor.remote().plain.remote(), timeout=60)
    text = str(raised.value)
    assert "in __init__" in text and "worker/actor.py" not in text


def test_a_coroutine_constructor_runs_again_after_a_crash(ray: Any) -> None:
    @ray.remote(num_cpus=0, max_restarts=1, max_task_retries=1)
    class Actor:
        async def __init__(self) -> None:  # type: ignore[misc]
            await asyncio.sleep(0)
            self.ready = True

        def crash(self, path: str) -> bool:
            import os

            if not os.path.exists(path):
                open(path, "w").close()
                os._exit(1)
            return self.ready

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        assert ray.get(Actor.remote().crash.remote(f"{folder}/crashed"), timeout=60)


def test_a_constructor_may_end_the_actor(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Actor:
        async def __init__(self) -> None:  # type: ignore[misc]
            await asyncio.sleep(0)
            ray.actor.exit_actor()

        def plain(self) -> int:
            return 1

    with pytest.raises(ray.exceptions.ActorDiedError, match="ended the actor"):
        ray.get(Actor.remote().plain.remote(), timeout=60)


def test_an_abstract_class_is_refused_where_it_is_decorated(ray: Any) -> None:
    class Base(abc.ABC):
        @abc.abstractmethod
        def value(self) -> int: ...

        @abc.abstractmethod
        def other(self) -> int: ...

    with pytest.raises(TypeError, match="Base cannot become an actor class: it is abstract, its methods other, value"):
        ray.remote(Base)


def test_a_derived_class_of_an_actor_class_is_refused_by_name(ray: Any) -> None:
    @ray.remote
    class Base:
        pass

    with pytest.raises(ray.actor.ActorClassInheritanceException, match=r"'Derived' of the actor class 'Base'"):

        class Derived(Base):  # type: ignore[misc, valid-type]
            pass
