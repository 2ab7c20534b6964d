"""The setting whether the program's lines that make references are recorded."""

from __future__ import annotations

import os

#: As Ray's variable, but on unless it says no: here it costs next to nothing.
_NAMES = ("EAGLERAY_record_ref_creation_sites", "RAY_record_ref_creation_sites")


def recorded() -> bool:
    """Whether references know where they were made."""
    for name in _NAMES:
        value = os.environ.get(name)
        if value:
            return value.lower() not in ("0", "false")
    return True


def folders() -> tuple[str | None, str | None]:
    """The folders whose lines are not the user's, the package's and the standard library's.

    None where lines are not recorded.
    """
    if not recorded():
        return None, None
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return package + os.sep, os.path.dirname(os.__file__) + os.sep
