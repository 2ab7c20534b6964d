"""The enumerations of ``ray.core.generated``: numbers and names that programs compare with what lists of state say.

Ray's processes speak Protocol Buffers, Eagle Ray's do not. So the modules of this package have Ray's enumerations, and
no messages and no services: a name of theirs raises an error that says so.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from eagleray._private import missing
from eagleray.core.generated._enumerations import COMMON, GCS, Enumeration, Holder

_MODULES: dict[str, dict[str, Enumeration | Holder]] = {
    "autoscaler_pb2": {},
    "common_pb2": COMMON,
    "gcs_pb2": GCS,
    "gcs_service_pb2": {},
    "gcs_service_pb2_grpc": {},
    "node_manager_pb2": {},
    "node_manager_pb2_grpc": {},
    "runtime_env_agent_pb2": {},
    "runtime_env_common_pb2": {},
}


class _Messages(ModuleType):
    """A module with enumerations and their values."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing.attribute(self.__name__, name, sys._getframe(1))


def _load() -> None:
    for short, names in _MODULES.items():
        full = f"{__name__}.{short}"
        module = _Messages(full, f"Enumerations of ``ray.core.generated.{short}``.")
        module.__spec__ = ModuleSpec(full, None)
        for name, found in names.items():
            setattr(module, name, found)
            if isinstance(found, Enumeration):
                for value, number in found.items():
                    setattr(module, value, number)
        sys.modules[full] = module
        globals()[short] = module


_load()
