"""Loads the shared object that holds the Go core.

One file carries two extension modules, so that one Go runtime lives in the process: ``eagleray._core`` (gopy's control
surface) and ``eagleray._hot`` (the hot path). The import system finds the first by its file name; the second it is
shown where to look. Nothing here loads Go before ``hot()`` or ``core()`` is called: a process that is to be forked must
not have done so.
"""

import importlib.machinery
import importlib.util
import sys
from types import ModuleType

_CORE = "eagleray._core"
_HOT = "eagleray._hot"


def core() -> ModuleType:
    """The control surface: Go function ``F`` of package ``pybind`` is ``core().pybind_F``."""
    return importlib.import_module(_CORE)


def hot() -> ModuleType:
    """The hot path's module, loaded on the first call."""
    module = sys.modules.get(_HOT)
    if module is None:
        found = importlib.util.find_spec(_CORE)
        if found is None or found.origin is None:
            raise ImportError("eagleray was installed without its native part", name=_CORE)
        loader = importlib.machinery.ExtensionFileLoader(_HOT, found.origin)
        spec = importlib.util.spec_from_loader(_HOT, loader, origin=found.origin)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        sys.modules[_HOT] = module
    return module
