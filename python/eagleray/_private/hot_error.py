"""The exception that calls of the core raise, and the public exception for it."""

from __future__ import annotations

from eagleray._private.faults import to_exception


class HotError(Exception):
    """A fault that the core reports from a call; never shown to users: see ``explain``."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message)
        self.code = code


def explain(error: HotError) -> Exception:
    """The public exception for a core's fault."""
    return to_exception(error.code, str(error))
