"""The name ``ray`` for ``eagleray``.

``import ray.util.queue`` gives the very module object that ``import eagleray.util.queue`` gives, so a class has one
identity whichever name it was imported by. Only this module is one of its own: what is read from it or set on it is
eagleray's, but for ``__version__``, which is the version of Ray whose API this is.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_ALIAS = "ray"
_REAL = "eagleray"


def _load() -> ModuleType:
    """The package ``eagleray``.

    Raises:
        ModuleNotFoundError: it is not installed, or a folder is all that is left of it.
    """
    try:
        real = importlib.import_module(_REAL)
        if hasattr(real, "__version__"):
            return real
    except ModuleNotFoundError as error:
        if error.name != _REAL:
            raise
    raise ModuleNotFoundError(
        "`import ray` is provided here by the distribution eagleray-ray-compat, and the package eagleray that it needs "
        "is not installed: install eagleray, or run `pip uninstall eagleray-ray-compat` to be rid of it.",
        name=_REAL,
    ) from None


class _Alias(MetaPathFinder, Loader):
    """Finds ``ray.x`` where ``eagleray.x`` is."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{_ALIAS}."):
            return None
        try:
            real = importlib.util.find_spec(_REAL + fullname[len(_ALIAS) :])
        except ModuleNotFoundError:  # what it is said to be inside is not there
            real = None
        if real is None:
            # Programs that only ask whether a module exists (importlib.util.find_spec) are to hear no.
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                error = _missing.error(fullname)
                if error is not None:
                    raise error
            return None
        return ModuleSpec(fullname, self, origin=real.origin, is_package=real.submodule_search_locations is not None)

    def exec_module(self, module: ModuleType) -> None:
        # The import system hands out what sys.modules holds after this. The real module is not touched, its __spec__
        # above all: relative imports in it go by that.
        sys.modules[module.__name__] = importlib.import_module(_REAL + module.__name__[len(_ALIAS) :])


class _Ray(ModuleType):
    """The module ``ray``: what it has not itself is eagleray's, and what is set on it is set there."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(_real, name)
        except AttributeError:
            raise _missing.attribute(_ALIAS, name, sys._getframe(1)) from None

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(_real, name, value)

    def __delattr__(self, name: str) -> None:
        if name.startswith("__"):
            super().__delattr__(name)
        else:
            delattr(_real, name)

    def __dir__(self) -> list[str]:
        return dir(_real)

    def __reduce__(self) -> Any:
        return importlib.import_module, (_ALIAS,)


# Ray leaves CUDA_VISIBLE_DEVICES alone for num_gpus=0; Eagle Ray hides the devices unless told not to.
os.environ.setdefault("EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
_real = _load()
_missing = importlib.import_module("eagleray._private.missing")
__version__: str = importlib.import_module("eagleray._version").API_VERSION
__all__ = list(_real.__all__)
sys.meta_path.insert(0, _Alias())
sys.modules[_ALIAS].__class__ = _Ray
