"""Marks for the public functions and classes of libraries that build on Ray: how stable they are."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any

__all__ = ["AnnotationType", "Deprecated", "DeveloperAPI", "PublicAPI", "RayDeprecationWarning"]


class AnnotationType(Enum):
    """The kinds of marks."""

    PUBLIC_API = "PublicAPI"
    DEVELOPER_API = "DeveloperAPI"
    DEPRECATED = "Deprecated"
    UNKNOWN = "Unknown"


class RayDeprecationWarning(DeprecationWarning):
    """The warning of what ``Deprecated(warning=True)`` marks."""


def PublicAPI(*args: Any, stability: str = "stable", api_group: str = "Others") -> Any:
    """Marks what users may rely on: ``@PublicAPI`` or ``@PublicAPI(stability="beta")``.

    Args:
        *args: What is marked, when there are no parentheses.
        stability: "stable", "beta" or "alpha"; the documentation of the last two says that they may change.
        api_group: The group in a documentation.
    """
    if stability not in ("stable", "beta", "alpha"):
        raise AssertionError(f"stability must be 'stable', 'beta' or 'alpha', got {stability!r}")
    note = None if stability == "stable" else f"{stability} API: it may change before it is stable."
    return _marker(args, AnnotationType.PUBLIC_API, note, api_group)


def DeveloperAPI(*args: Any, stability: str = "stable", api_group: str = "Others") -> Any:
    """Marks what is for authors of libraries and may change with each release: ``@DeveloperAPI``.

    Args:
        *args: What is marked, when there are no parentheses.
        stability: Named in the documentation if it is not "stable".
        api_group: The group in a documentation.
    """
    kind = "" if stability == "stable" else f" ({stability})"
    note = f"For developers{kind}: it may change with each release."
    return _marker(args, AnnotationType.DEVELOPER_API, note, api_group)


def Deprecated(*args: Any, message: str | None = None, warning: bool = False, **unknown: Any) -> Any:
    """Marks what may be removed: ``@Deprecated`` or ``@Deprecated(message="use g()", warning=True)``.

    Args:
        *args: What is marked, when there are no parentheses; a text is the message.
        message: The reason, and what to use instead.
        warning: Whether each use gives a ``RayDeprecationWarning``.
        **unknown: Refused.
    """
    if unknown:
        raise ValueError(f"Deprecated() takes message and warning, got also: {', '.join(unknown)}")
    if args and isinstance(args[0], str):
        message, args = message or args[0], ()
    note = "Deprecated: it may be removed in a later release." + (f" {message}" if message else "")
    mark = _marker((), AnnotationType.DEPRECATED, note)

    def deprecate(marked: Any) -> Any:
        mark(marked)
        return _warning(marked, note) if warning else marked

    return deprecate(args[0]) if args else deprecate


def _marker(args: tuple[Any, ...], kind: AnnotationType, note: str | None, group: str = "Others") -> Any:
    """The decorator, or what it has marked already when it was used without parentheses."""

    def mark(marked: Any) -> Any:
        if note is not None:
            marked.__doc__ = f"{inspect.cleandoc(marked.__doc__ or '')}\n\n{note}".lstrip()
        if hasattr(marked, "__name__"):
            marked._annotated = marked.__name__
            marked._annotated_type = kind
            marked._annotated_api_group = group
        return marked

    return mark(args[0]) if args else mark


def _warning(marked: Any, text: str) -> Any:
    """What warns at each call, or each instance of a class."""
    called: Callable[..., Any] = marked.__init__ if inspect.isclass(marked) else marked

    @functools.wraps(called)
    def warn(*args: Any, **kwargs: Any) -> Any:
        name = getattr(marked, "__qualname__", repr(marked))
        warnings.warn(f"{name}: {text}", RayDeprecationWarning, stacklevel=2)
        return called(*args, **kwargs)

    if inspect.isclass(marked):
        marked.__init__ = warn
        return marked
    return warn
