"""``RAY_RUNTIME_ENV_HOOK``: a function that may change the ``runtime_env`` of ``init``, for all programs of a site."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

VARIABLE = "RAY_RUNTIME_ENV_HOOK"


def applied(runtime_env: Mapping[str, Any] | None) -> Any:
    """Returns the ``runtime_env`` of a program that called ``init`` with this one.

    Raises:
        ValueError: the variable names no function.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return runtime_env
    module, _, name = path.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise ValueError(
            f"the variable {VARIABLE} must be the path of a function, as package.module.function, and {path!r} is "
            f"none: {problem}"
        ) from None
    return function(dict(runtime_env or {}))
