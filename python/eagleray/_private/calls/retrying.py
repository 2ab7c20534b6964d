"""Which exceptions a task is tried again after, and how often by default."""

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
    """What ``max_retries`` is where nothing is stated.

    Raises:
        ValueError: a variable of the environment says it, and is no number.
    """
    for name in _DEFAULT_VARIABLES:
        text = os.environ.get(name)
        if text:
            try:
                number = int(text)
            except ValueError:
                number = -2
            if number < -1:
                raise ValueError(f"{name}={text!r} must be a number of retries, 0 or more, or -1 for no end")
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
    """``retry_exceptions`` of a method as it travels: a boolean, or the pickled classes."""
    check_classes(value)
    if isinstance(value, (list, tuple)):
        return pickling.dumps_code(tuple(value))[0] if value else False
    return bool(value)


def load_classes(blob: bytes) -> tuple[type[BaseException], ...]:
    """What ``pack_classes`` pickled."""
    found: tuple[type[BaseException], ...] = pickle.loads(blob)
    return found


def may_retry(error: BaseException, retry_on: tuple[type[BaseException], ...] | None) -> bool:
    """Whether an exception that user code raised counts for ``retry_exceptions``.

    Args:
        error: What was raised.
        retry_on: The classes that the list names; None for all.
    """
    if isinstance(error, (KeyboardInterrupt, ArgumentFailed)):  # cancelled; or another task's failure
        return False
    return retry_on is None or isinstance(error, retry_on)
