"""Loads the shared object that holds the Go core.

One file carries four extension modules, so that one Go runtime lives in the process: ``eagleray._core`` (gopy's
control surface), ``eagleray._hot`` (the hot path), ``eagleray._kern`` (arrays and kernels) and ``eagleray._late`` (when
Go starts). The import system finds the first by its file name; for the others it is shown where to look. Nothing here
starts Go before one of the functions is called: a process that is to be forked must not have done so.
"""

import importlib.machinery
import importlib.util
import sys
from types import ModuleType

_CORE = "eagleray._core"
_HOT = "eagleray._hot"
_KERN = "eagleray._kern"
_LATE = "eagleray._late"


def core() -> ModuleType:
    """The control surface: Go function ``F`` of package ``pybind`` is ``core().pybind_F``."""
    return importlib.import_module(_CORE)


def hot() -> ModuleType:
    """The hot path's module, loaded on the first call."""
    return sys.modules.get(_HOT) or _load(_HOT)


def kern() -> ModuleType:
    """The module of arrays and kernels, loaded on the first call."""
    return sys.modules.get(_KERN) or _load(_KERN)


def delay_start() -> bool:
    """Lets this process load the library without starting Go, so that it can be forked.

    Returns:
        Whether that is so: the processes that are forked then call ``start`` before they use a function of Go's.
    """
    delayed: bool = _load(_LATE).delay_start()
    return delayed


def start() -> None:
    """Starts Go in a process whose parent has called ``delay_start``."""
    late = sys.modules.get(_LATE)
    if late is not None:
        late.start()


def before_forks() -> None:
    """Says that this process has loaded what there is to load and is going to be forked."""
    sys.modules[_LATE].before_forks()


def record_written_pages() -> None:
    """Notes, for the workers that this one's zygote forks next, which pages one writes to when it comes up."""
    late = sys.modules.get(_LATE)
    if late is not None:
        late.record_written_pages()


def release_code() -> None:
    """Lets go of the code in memory that an idle process does not run; what it runs comes back."""
    late = sys.modules.get(_LATE)
    if late is not None:
        late.trim()


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
