"""Packages whose modules are attributes although nobody has imported them: Ray's own start imports many of them."""

from __future__ import annotations

import importlib
from typing import Any

_PACKAGES = ("ray._common", "ray._private", "ray.dashboard", "ray.core", "ray.widgets")


def offer() -> None:
    """Makes modules of these packages attributes, each imported when it is first asked for."""
    for name in _PACKAGES:
        _offer(name)


def _offer(package: str) -> None:
    module: Any = importlib.import_module(package)
    before = getattr(module, "__getattr__", None)

    def find(name: str) -> Any:
        if before is not None:
            try:
                return before(name)
            except AttributeError:
                pass
        if not name.startswith("__"):
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as problem:
                if problem.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    module.__getattr__ = find
