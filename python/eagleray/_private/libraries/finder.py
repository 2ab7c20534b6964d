"""Finds the modules of Ray's libraries: ``ray.x`` where eagleray has no module x, and ``eagleray.x`` for the same one.

A module of the libraries is called ``ray.…``, as its own imports and what it pickles name it. It is loaded once,
whichever name asks for it. What lies below such a module is found by Python itself, in the module's folder.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, spec_from_file_location

from eagleray._private.libraries import cache, releases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

#: The variable that has a program install the libraries when it first needs them.
AUTO_VARIABLE = "EAGLERAY_RAY_LIBS_AUTO"
#: Imported when the first module of the libraries is: what they expect of Ray beside its API.
_SHIMS = "eagleray._private.shims"
#: Makes ``ray`` mean eagleray. It imports this module.
_ALIAS = "eagleray._private.alias"
#: Modules of Ray that cannot do here what they are for, so they count as missing.
_NEVER = frozenset(
    f"ray.{name}"
    for name in (
        *("serve", "rllib", "llm"),  # not tested here
        *("client_builder", "setup-dev", "scripts", "util.client", "util.client_connect", "util.pdb"),
        *("util.debugpy", "util.ray_debugpy", "util.horovod", "util.spark", "util.check_open_ports", "workflow"),
        *("experimental.channel", "experimental.rdt", "experimental.collective", "experimental.sandbox"),
        *("autoscaler.v2", "autoscaler.node_provider", "autoscaler.batching_node_provider"),
    )
)

#: Module → package that has it. All of Ray's libraries import these.
_NEEDED = {
    **{"colorama": "colorama", "filelock": "filelock", "fsspec": "fsspec", "google.protobuf": "protobuf"},
    **{"numpy": "numpy", "packaging": "packaging", "pandas": "pandas", "psutil": "psutil", "pyarrow": "pyarrow"},
    **{"requests": "requests", "yaml": "pyyaml"},
}
#: Modules of Ray that are replaced for the libraries → the file below ``shims`` that takes their place.
_REPLACED = {"ray.util.rpdb": "debugger.py"}


def root() -> str | None:
    """Returns the folder with the libraries that this process uses; None if there is none.

    It is in ``sys.path`` where a node was sent the folder of the program's machine. Else it is in the user's cache.
    """
    global _root
    if _root is None:
        for entry in sys.path:
            if entry.startswith(os.sep) and cache.is_whole(entry):
                _root = entry
                return entry
        own = cache.place(releases.USED)
        if cache.is_whole(own):
            if os.stat(own).st_uid not in (0, os.geteuid()):
                raise ImportError(f"{own} belongs to another user, so nothing is imported from there")
            _root = own
    return _root


_root: str | None = None
_active = False
_number = 0


def number_found() -> int:
    """Returns how many modules of the libraries this process has looked up in packages of eagleray's, and found."""
    return _number


def can_find(name: str) -> bool:
    """Whether a module, as ``ray.data``, can be imported from the libraries, or would be installed by that."""
    return _locate(name) is not None or (os.environ.get(AUTO_VARIABLE) == "1" and _is_library(name))


def find(name: str, importing: bool) -> ModuleSpec | None:
    """Returns where the libraries have a module, as ``ray.data``; None if they have none, or are not installed.

    Args:
        name: The module. Its package is one of eagleray's.
        importing: Whether it is about to be imported. Otherwise nothing changes.
    """
    if importing and root() is None and os.environ.get(AUTO_VARIABLE) == "1" and _is_library(name):
        _install()
    spec = _locate(name)
    if spec is not None and importing:
        if _is_library(name):
            _check_needed(name)
        global _number
        _number += 1
        state = sys.modules.get("eagleray._private.state")
        if state is not None:
            state.process.place_changed()  # what is submitted from now on runs where these modules are
        _activate()
    return spec


def _is_library(name: str) -> bool:
    from eagleray._private import missing

    return missing.is_library(name)


def _check_needed(name: str) -> None:
    """Raises if packages are not installed that Ray's libraries need."""
    lacking = [package for module, package in _NEEDED.items() if not _is_there(module)]
    if lacking:
        raise ModuleNotFoundError(
            f"{name} needs packages that are not installed: {', '.join(lacking)}. Run `pip install "
            "'eagleray-ray-compat[data,tune,train]'`, or install them by themselves",
            name=name,
        )


def _is_there(module: str) -> bool:
    try:
        return module in sys.modules or find_spec(module) is not None
    except (ImportError, ValueError):  # its package is not there
        return False


def _locate(name: str) -> ModuleSpec | None:
    if (_root is None and root() is None) or name in _NEVER:
        return None
    assert _root is not None
    if name in _REPLACED:
        shims = os.path.join(os.path.dirname(os.path.dirname(__file__)), "shims")
        return spec_from_file_location(name, os.path.join(shims, _REPLACED[name]))
    parent = name.rpartition(".")[0]
    return PathFinder.find_spec(name, [os.path.join(_root, cache.INNER, *parent.split("."))])


def _install() -> None:
    from eagleray._private.libraries import install

    try:
        install.install(releases.USED, say=lambda text: print(f"eagleray: {text}", file=sys.stderr))
    except install.InstallError as problem:
        raise ImportError(f"{AUTO_VARIABLE}=1, and Ray's libraries cannot be installed: {problem}") from None


def _activate() -> None:
    """Prepares this process for the libraries, once."""
    global _active
    if _active:
        return
    _active = True
    try:
        importlib.import_module(_ALIAS).install()  # the libraries' own imports say ray
        sys.meta_path.insert(0, Twins())
        importlib.import_module(_SHIMS)
    except BaseException:
        _active = False
        raise


class Twins(MetaPathFinder, Loader):
    """Finds ``eagleray.data`` and what is below it: the modules called ``ray.data`` and so on."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent, _, _ = fullname.rpartition(".")
        if parent.startswith("eagleray.") and in_library(parent):
            return twin(fullname)
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system hands out what sys.modules holds after this.
        sys.modules[module.__name__] = importlib.import_module("ray" + module.__name__.removeprefix("eagleray"))


def twin(name: str) -> ModuleSpec:
    """Returns how ``eagleray.x`` is loaded: it is the module ``ray.x``."""
    return ModuleSpec(name, Twins(), is_package=True)


def in_library(name: str) -> bool:
    """Whether a loaded module belongs to the libraries, whichever name it was asked for by."""
    module = sys.modules.get(name)
    return module is not None and module.__name__.startswith("ray.")
