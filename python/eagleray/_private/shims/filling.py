"""Modules of eagleray that have a part of Ray's module of that name: the rest is taken from Ray's file.

That is done where what is missing depends on nothing of Ray's core: constants, and functions of plain Python.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType
from typing import Any

from eagleray._private.libraries import cache, finder

_MODULES = (
    "_common.constants",
    "_common.network_utils",
    "_common.utils",
    "_private.ray_constants",
    "_private.utils",
)


def fill() -> None:
    """Has these modules find what they lack in Ray's files. Each file is loaded when a name is first looked for."""
    for name in _MODULES:
        _Filled(name)


class _Filled:
    """Ray's file of one module.

    Args:
        name: The module, below ``ray``.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._theirs: ModuleType | None = None
        ours: Any = importlib.import_module(f"eagleray.{name}")
        self._before = getattr(ours, "__getattr__", None)
        ours.__getattr__ = self._find

    def _find(self, wanted: str) -> Any:
        if self._before is not None:
            try:
                return self._before(wanted)
            except AttributeError:
                pass
        if not wanted.startswith("__"):
            try:
                return getattr(self._load(), wanted)
            except AttributeError:
                pass
        raise AttributeError(f"module 'ray.{self._name}' has no attribute {wanted!r}")

    def _load(self) -> ModuleType:
        if self._theirs is None:
            root = finder.root()
            assert root is not None
            path = os.path.join(root, cache.INNER, "ray", *self._name.split(".")) + ".py"
            spec = importlib.util.spec_from_file_location(f"ray.{self._name}", path)
            assert spec is not None and spec.loader is not None
            self._theirs = importlib.util.module_from_spec(spec)  # before its file runs: modules import each other
            spec.loader.exec_module(self._theirs)
        return self._theirs
