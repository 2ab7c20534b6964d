"""Suggestions for names that were mistyped."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the nearest of the known names, nothing when none is near."""
    import difflib

    near = difflib.get_close_matches(name.lower(), {one.lower(): one for one in known}, 1)
    if not near:
        return ""
    return f" (did you mean {next(one for one in known if one.lower() == near[0])!r}?)"


def with_suggestions(names: Iterable[str], known: Iterable[str]) -> str:
    """The names with a suggestion behind each that has one."""
    known = list(known)
    return ", ".join(name + suggestion(name, known) for name in names)


def refuse_unknown(function: str, unknown: Iterable[str], known: Iterable[str]) -> None:
    """Raises for keywords that a function does not take.

    Raises:
        TypeError: there are some.
    """
    names = list(unknown)
    if names:
        raise TypeError(f"{function}() got an unexpected keyword argument: {with_suggestions(names, known)}")
