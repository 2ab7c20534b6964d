"""``ActorGroup``: actors of one class whose methods are called together."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from eagleray._private.session import api
from eagleray._private.session.decorator import remote

__all__ = ["ActorGroup", "ActorGroupMethod", "ActorWrapper"]


@dataclass
class ActorWrapper:
    """An actor of a group, and what its method ``get_actor_metadata`` returned."""

    actor: Any
    metadata: Any


class ActorGroupMethod:
    """A method of all actors of a group."""

    def __init__(self, actor_group: ActorGroup, method_name: str) -> None:
        self._group = weakref.ref(actor_group)
        self._method_name = method_name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = self._method_name
        raise TypeError(
            f"ActorGroup methods cannot be called directly. Instead of running 'object.{name}()', try "
            f"'object.{name}.remote()'."
        )

    def remote(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Calls the method of each actor and returns the references."""
        group = self._group()
        if group is None:
            raise RuntimeError("this ActorGroup is gone: keep it as long as its methods are called")
        return [getattr(one.actor, self._method_name).remote(*args, **kwargs) for one in group.actors]


class ActorGroup:
    """Actors of one class. ``group.method.remote(…)`` calls all of them and returns a list of references.

    Ray calls this class deprecated, and so does a DeprecationWarning here; ``ActorPool`` and a list of actors do more.

    Args:
        actor_cls: The class of the actors.
        num_actors: Their number.
        num_cpus_per_actor: CPUs that each of them holds.
        num_gpus_per_actor: GPUs that each of them holds.
        resources_per_actor: Further resources that each of them holds.
        init_args: Arguments of the constructor.
        init_kwargs: Keyword arguments of the constructor.

    Raises:
        ValueError: a number is negative, or there are no actors.
    """

    def __init__(
        self,
        actor_cls: type,
        num_actors: int = 1,
        num_cpus_per_actor: float = 1,
        num_gpus_per_actor: float = 0,
        resources_per_actor: dict[str, float] | None = None,
        init_args: Sequence[Any] | None = None,
        init_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.actors: list[ActorWrapper] = []
        warnings.warn(
            "ActorGroup is deprecated: use ray.util.multiprocessing, ray.util.ActorPool, or a list of actors",
            DeprecationWarning,
            stacklevel=2,
        )
        if num_actors <= 0:
            raise ValueError(
                f"The provided `num_actors` must be greater than 0. Received num_actors={num_actors} instead."
            )
        if num_cpus_per_actor < 0 or num_gpus_per_actor < 0:
            raise ValueError(
                f"The number of CPUs and GPUs per actor must not be negative. Received {num_cpus_per_actor=} and "
                f"{num_gpus_per_actor=}."
            )
        self.num_actors = num_actors
        self._arguments = (tuple(init_args or ()), dict(init_kwargs or {}))
        options: dict[str, Any] = {"num_cpus": num_cpus_per_actor, "num_gpus": num_gpus_per_actor}
        if resources_per_actor is not None:
            options["resources"] = resources_per_actor
        self._remote_cls: Any = remote(**options)(actor_cls)
        self.start()

    def __getattr__(self, item: str) -> ActorGroupMethod:
        if item.startswith("__") or item == "actors":
            raise AttributeError(item)
        if not self.actors:
            raise RuntimeError("This ActorGroup has been shutdown. Please start it again.")
        return ActorGroupMethod(self, item)

    def __len__(self) -> int:
        return len(self.actors)

    def __getitem__(self, item: int) -> ActorWrapper:
        return self.actors[item]

    def start(self) -> None:
        """Starts the actors, after ``shutdown``.

        Raises:
            RuntimeError: they are running.
        """
        if self.actors:
            raise RuntimeError(
                "The actors have already been started. Please call `shutdown` first if you want to restart them."
            )
        self.add_actors(self.num_actors)

    def shutdown(self, patience_s: float = 5) -> None:
        """Ends the actors.

        Args:
            patience_s: Seconds in which they may finish what they were asked before; then they are killed.
        """
        leaving = [one.actor for one in self.actors]
        if leaving and patience_s > 0:
            refs = {one.__ray_terminate__.remote(): one for one in leaving}
            _, late = api.wait(list(refs), num_returns=len(refs), timeout=patience_s)
            leaving = [refs[ref] for ref in late]
        for actor in leaving:
            api.kill(actor)
        self.actors = []

    def remove_actors(self, actor_indexes: Sequence[int]) -> None:
        """Takes actors out of the group. They end when nothing refers to them any more."""
        self.actors = [one for place, one in enumerate(self.actors) if place not in actor_indexes]

    def add_actors(self, num_actors: int) -> None:
        """Starts further actors."""
        args, kwargs = self._arguments
        made = [self._remote_cls.remote(*args, **kwargs) for _ in range(num_actors)]
        refs = [actor.get_actor_metadata.remote() for actor in made if hasattr(actor, "get_actor_metadata")]
        about = api.get(refs) if refs else [None] * len(made)
        self.actors += [ActorWrapper(actor, metadata) for actor, metadata in zip(made, about, strict=True)]

    @property
    def actor_metadata(self) -> list[Any]:
        """What the actors' methods ``get_actor_metadata`` returned."""
        return [one.metadata for one in self.actors]
