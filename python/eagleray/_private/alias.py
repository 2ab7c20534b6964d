"""The name ``ray`` for ``eagleray``, in this process and in the workers that it asks for.

``import ray.util.queue`` gives the very module object that ``import eagleray.util.queue`` gives, so a class has one
identity whichever name it was imported by. Only the module ``ray`` is one of its own: what is read from it or set on it
is eagleray's, but for its version, which is the version of Ray whose API this is.

Two things bring the name: the distribution eagleray-ray-compat, which has a package ``ray`` to import, and ``eagleray
run``, which needs none. Workers have the name when the process has it that asks for them: see ``VARIABLE``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from eagleray._private import missing
from eagleray._private.libraries import finder
from eagleray._private.ray_name import VARIABLE as VARIABLE
from eagleray._version import API_VERSION, __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.metadata import Distribution, DistributionFinder
    from typing import Any

NAME = "ray"
#: Ray leaves CUDA_VISIBLE_DEVICES alone for num_gpus=0. Eagle Ray hides the devices unless this variable is "0".
_DEVICES_VARIABLE = "EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"
_REAL = "eagleray"
_real = sys.modules[_REAL]  # kept: objects of libraries ask it when the interpreter ends


def installed() -> bool:
    """Whether ``ray`` means eagleray in this process."""
    return isinstance(sys.modules.get(NAME), _Ray)


def install() -> None:
    """Makes ``ray`` mean eagleray, also where a package called ray is installed.

    Raises:
        ImportError: ``ray`` was imported already, and it is another package.
    """
    if installed():
        return
    if NAME in sys.modules:
        raise ImportError(
            "`ray` cannot mean eagleray in this process: another package of that name was imported before", name=NAME
        )
    made = ModuleType(NAME, _real.__doc__)
    made.__file__ = _real.__file__
    made.__path__ = []  # all that is inside is found by _Finder
    made.__spec__ = ModuleSpec(NAME, None, origin=_real.__file__, is_package=True)
    sys.modules[NAME] = made
    become(made)


def become(module: ModuleType) -> None:
    """Makes a module, which ``sys.modules`` has as ``ray``, the one that stands for eagleray."""
    os.environ.setdefault(_DEVICES_VARIABLE, "0")
    own = module.__dict__
    own["__version__"] = API_VERSION
    own["__commit__"] = f"eagleray-{__version__}"
    own["__all__"] = list(_real.__all__)
    sys.meta_path.insert(0, _Finder())
    module.__class__ = _Ray


class _Finder(MetaPathFinder, Loader):
    """Finds ``ray.x`` where ``eagleray.x`` is, and the metadata of a distribution ``ray`` where there is none."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{NAME}."):
            return None
        if finder.in_library(fullname.rpartition(".")[0]):
            return None  # Python finds it in its package's folder
        try:
            real = importlib.util.find_spec(_REAL + fullname[len(NAME) :])
        except ModuleNotFoundError:  # the package that the name says is not there
            real = None
        if real is None or isinstance(real.loader, finder.Twins):
            # Programs that only ask whether a module exists (importlib.util.find_spec) are to hear yes or no.
            importing = sys._getframe(2).f_code.co_name == "_find_and_load_unlocked"
            found = finder.find(fullname, importing)
            if found is not None:
                return found
            if importing:
                error = missing.error(fullname)
                if error is not None:
                    raise error
            return None
        return ModuleSpec(fullname, self, origin=real.origin, is_package=real.submodule_search_locations is not None)

    def exec_module(self, module: ModuleType) -> None:
        # The import system hands out what sys.modules holds after this. The real module is not touched, its __spec__
        # above all: relative imports in it go by that.
        sys.modules[module.__name__] = importlib.import_module(_REAL + module.__name__[len(NAME) :])

    def find_distributions(self, context: DistributionFinder.Context) -> Iterable[Distribution]:
        """Answers ``importlib.metadata`` for ``ray``. It is asked before the folders of ``sys.path`` are searched."""
        if context.name is None or context.name.lower() != NAME:
            return ()
        from eagleray._private import alias_metadata

        return (alias_metadata.RayDistribution(),)


class _Ray(ModuleType):
    """The module ``ray``: what it has not itself is eagleray's, and what is set on it is set there."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(_real, name)
        except AttributeError:
            raise missing.attribute(NAME, name, sys._getframe(1)) from None

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
        return importlib.import_module, (NAME,)
