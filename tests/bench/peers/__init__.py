"""Other ways to run Python in parallel on one machine: the same jobs, written as their users write them.

Each module has `session`, which starts and stops what a group needs, and registers under the names of our figures.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from book import Bench

SYSTEMS = ("executor", "dask", "joblib")
Measured = Callable[[Bench], float]


def figures(system: str) -> dict[str, dict[str, Measured]]:
    """The functions of a peer by group and figure."""
    found: dict[str, dict[str, Measured]] = importlib.import_module(f"peers.{system}").FIGURES
    return found


def registrar(registry: dict[str, dict[str, Measured]]) -> Callable[[str], Callable[[Measured], Measured]]:
    """A decorator that registers what measures a figure, by the figure's group; the function's name is the figure's."""

    def of_group(group: str) -> Callable[[Measured], Measured]:
        def register(func: Measured) -> Measured:
            registry.setdefault(group, {})[func.__name__] = func
            return func

        return register

    return of_group
