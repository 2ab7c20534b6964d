"""The private half of the package: the code behind the public names.

The modules beside this file are the leaves. They import none of the packages ``values``, ``calls``, ``session``,
``worker``, ``tools``. Each package imports only those before it in this list, inside functions too. The modules
``refs``, ``generators``, ``functions`` and ``task_error`` belong to ``values``; they stand here because pickles name
them.
``internal_api``, ``ray_perf`` and ``cli`` are names that others use.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

#: Modules that programs read as attributes after `import ray` alone, as they may under Ray.
_OUTSIDE = frozenset(
    {
        *("async_compat", "client_mode_hook", "gcs_utils", "internal_api", "log_monitor", "profiling"),
        *("ray_constants", "runtime_env", "services", "state", "test_utils", "utils", "worker"),
    }
)


def __getattr__(name: str) -> ModuleType:
    if name not in _OUTSIDE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
