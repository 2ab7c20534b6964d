"""The name ``ray`` for ``eagleray``: this module replaces itself, and each of its submodules, by the real one.

``import ray.util.queue`` gives the very module object that ``import eagleray.util.queue`` gives, so a class has one
identity whichever name it was imported by.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_ALIAS = "ray"
_REAL = "eagleray"


class _Alias(MetaPathFinder, Loader):
    """Finds ``ray.x`` where ``eagleray.x`` is."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{_ALIAS}."):
            return None
        real = importlib.util.find_spec(_REAL + fullname[len(_ALIAS) :])
        if real is None:
            return None
        return ModuleSpec(fullname, self, origin=real.origin, is_package=real.submodule_search_locations is not None)

    def exec_module(self, module: ModuleType) -> None:
        # The import system hands out what sys.modules holds after this. The real module is not touched, its __spec__
        # above all: relative imports in it go by that.
        sys.modules[module.__name__] = importlib.import_module(_REAL + module.__name__[len(_ALIAS) :])


# Ray leaves CUDA_VISIBLE_DEVICES alone for num_gpus=0; Eagle Ray hides the devices unless told not to.
os.environ.setdefault("EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
sys.meta_path.insert(0, _Alias())
sys.modules[_ALIAS] = importlib.import_module(_REAL)
