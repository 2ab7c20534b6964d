"""The name ``ray`` for ``eagleray``. All that is imported from it is eagleray's: see ``eagleray._private.alias``."""

import importlib
import os
import sys
from types import ModuleType


def _refuse_real_ray() -> None:
    """Raises when files of Ray itself lie in this folder: two distributions share it, and neither of them is whole."""
    found = [name for name in ("_raylet.so", "core", "_version.py") if os.path.exists(os.path.join(__path__[0], name))]
    if found:
        raise ImportError(
            f"Ray itself and eagleray-ray-compat are both installed in {__path__[0]} ({found[0]} is Ray's), so "
            "`import ray` can mean neither. Run `pip uninstall eagleray-ray-compat`, then `pip uninstall ray`, remove "
            "this folder if it is still there, and install the one that you want. `eagleray run script.py` runs a "
            "program on Eagle Ray beside Ray itself.",
            name=__name__,
        )


def _load() -> ModuleType:
    """The package ``eagleray``.

    Raises:
        ModuleNotFoundError: it is not installed, or a folder is all that is left of it.
    """
    try:
        real = importlib.import_module("eagleray")
        if hasattr(real, "__version__"):
            return real
    except ModuleNotFoundError as error:
        if error.name != "eagleray":
            raise
    raise ModuleNotFoundError(
        "`import ray` is provided here by the distribution eagleray-ray-compat, and the package eagleray that it needs "
        "is not installed: install eagleray, or run `pip uninstall eagleray-ray-compat` to be rid of it.",
        name="eagleray",
    ) from None


_refuse_real_ray()
_load()
importlib.import_module("eagleray._private.alias").become(sys.modules[__name__])
__version__: str
