"""What programs say to an autoscaler. Loaded piece by piece, like the package itself."""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eagleray.autoscaler import sdk as sdk

_NAMES: dict[str, str] = {}
_MODULES = frozenset({"sdk"})

__all__ = ["sdk"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        from eagleray._private import missing

        raise missing.attribute("eagleray.autoscaler", name, sys._getframe(1))
    value = importlib.import_module(f"eagleray.autoscaler.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
