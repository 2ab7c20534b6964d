"""Other ways to run Python in parallel on one machine: the same jobs, written as their users write them.

Each module has `session`, which starts and stops what a group needs, and FIGURES, what measures ours by group and name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from book import Bench

SYSTEMS = ("executor", "dask", "joblib")


def figures(system: str) -> dict[str, dict[str, Callable[[Bench], float]]]:
    """The functions of a peer by group and figure."""
    found: dict[str, dict[str, Callable[[Bench], float]]] = importlib.import_module(f"peers.{system}").FIGURES
    return found
