"""Loads the shared object that holds the Go core.

One file carries three extension modules, so that one Go runtime lives in the process: ``eagleray._core`` (gopy's
control surface), ``eagleray._hot`` (the hot path) and ``eagleray._kern`` (arrays and kernels). The import system finds
the first by its file name; for the others it is shown where to look. Nothing here loads Go before one of the functions
is called: a process that is to be forked must not have done so.
"""

import importlib.machinery
import importlib.util
import sys
from types import ModuleType

_CORE = "eagleray._core"
_HOT = "eagleray._hot"
_KERN = "eagleray._kern"


def core() -> ModuleType:
    """The control surface: Go function ``F`` of package ``pybind`` is ``core().pybind_F``."""
    return importlib.import_module(_CORE)


def hot() -> ModuleType:
    """The hot path's module, loaded on the first call."""
    return sys.modules.get(_HOT) or _load(_HOT)


def kern() -> ModuleType:
    """The module of arrays and kernels, loaded on the first call."""
    return sys.modules.get(_KERN) or _load(_KERN)


def _load(name: str) -> ModuleType:
    found = importlib.util.find_spec(_CORE)
    if found is None or found.origin is None:
        raise ImportError("eagleray was installed without its native part", name=_CORE)
    loader = importlib.machinery.ExtensionFileLoader(name, found.origin)
    spec = importlib.util.spec_from_loader(name, loader, origin=found.origin)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = module
    return module
