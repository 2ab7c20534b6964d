"""The exceptions after which a task is retried, and the default number of retries."""

from __future__ import annotations

import os
import pickle
from typing import Any

from eagleray._private.calls.arguments import ArgumentFailed
from eagleray._private.values import pickling

DEFAULT_RETRIES = 3
_DEFAULT_VARIABLES = ("EAGLERAY_TASK_MAX_RETRIES", "RAY_TASK_MAX_RETRIES")
_TAKES = "The keyword 'retry_exceptions' takes a boolean or a list of exception classes"


def default_retries() -> int:
    """Returns the default of ``max_retries``.

    Raises:
        ValueError: the variable that sets the default is no number.
    """
    for name in _DEFAULT_VARIABLES:
        text = os.environ.get(name)
        if text:
            try:
                number = int(text)
            except ValueError:
                number = -2
            if number < -1:
                raise ValueError(f"{name}={text!r} must be a number of retries, 0 or more, or -1 to retry for ever")
            return number
    return DEFAULT_RETRIES


def check_classes(value: Any) -> None:
    """Checks a value of ``retry_exceptions`` that may be a list.

    Raises:
        TypeError: it is neither a boolean nor a list or tuple.
        ValueError: what it lists are no classes of exceptions.
    """
    if value is None or isinstance(value, bool):
        return
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{_TAKES}, got {type(value).__name__}: {value!r}")
    if not all(isinstance(item, type) and issubclass(item, BaseException) for item in value):
        raise ValueError(f"{_TAKES}, got {value!r}")


def pack_classes(value: Any) -> Any:
    """Returns the wire form of a method's ``retry_exceptions``: a boolean, or the pickled classes."""
    check_classes(value)
    if isinstance(value, (list, tuple)):
        return pickling.dumps_code(tuple(value))[0] if value else False
    return bool(value)


def load_classes(blob: bytes) -> tuple[type[BaseException], ...]:
    """Returns the classes that ``pack_classes`` has pickled."""
    found: tuple[type[BaseException], ...] = pickle.loads(blob)
    return found


def may_retry(error: BaseException, retry_on: tuple[type[BaseException], ...] | None) -> bool:
    """Reports whether an exception of user code counts for ``retry_exceptions``.

    Args:
        error: The exception.
        retry_on: The classes in the list; None for all exceptions.
    """
    if isinstance(error, (KeyboardInterrupt, ArgumentFailed)):  # cancelled, or failed by another task
        return False
    return retry_on is None or isinstance(error, retry_on)
