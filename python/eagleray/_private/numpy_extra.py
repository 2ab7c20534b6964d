"""numpy, which is installed separately: what needs numpy and does not find it says how to get it."""

from __future__ import annotations

from typing import Any


def need(what: str) -> Any:
    """Returns numpy.

    Args:
        what: What needs numpy, as the beginning of a sentence.

    Raises:
        ModuleNotFoundError: numpy is not installed.
    """
    try:
        import numpy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        text = f"{what} needs numpy, which is not installed: pip install 'eagleray[numpy]'"
        raise ModuleNotFoundError(text, name="numpy") from None
    return numpy
