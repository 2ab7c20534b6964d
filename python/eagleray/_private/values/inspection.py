"""Finds the part of a value that cannot be pickled."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from eagleray._private.values import pickling

_ADVICE = (
    "Locks, sockets, files, threads and device objects belong to one process: make them where they are used, "
    "or pass what they are made from."
)
_MAX_DEPTH = 12
_MAX_PARTS = 2000
_SHOWN_DEPTH = 4


def describe_failure(value: Any, what: str, problem: BaseException) -> str:
    """Returns the message: what could not be serialised, the path to the faulty part, and what to do."""
    if _is_too_deep(problem):
        return _describe_depth(value, what)
    part, path, reason = find_culprit(value, problem)
    text = f"Could not serialize {what}: {reason}."
    if path:
        text += f" The part to blame is {what} → {' → '.join(path)}, of type {_type_name(part)}."
    else:
        text += f" It is of type {_type_name(part)}."
    return f"{text} {_ADVICE}"


def _is_too_deep(problem: BaseException | None) -> bool:
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        if isinstance(problem, RecursionError):
            return True
        seen.add(id(problem))
        problem = problem.__cause__ or problem.__context__
    return False


def _describe_depth(value: Any, what: str) -> str:
    """Returns the message for a value with more levels than pickle supports."""
    path, part = [what], value
    seen = {id(part)}
    while len(path) <= _SHOWN_DEPTH:
        inner = next(((step, item) for step, item in parts(part) if _has_parts(item) and id(item) not in seen), None)
        if inner is None:
            break
        path.append(inner[0])
        part = inner[1]
        seen.add(id(part))
    text = f"Could not serialize {what}: it is nested too deeply for pickle, which goes down one call for each level"
    if len(path) > _SHOWN_DEPTH:
        text += f": {' → '.join(path)} → …, of type {_type_name(part)}"
    return f"{text}. Make it flatter: for example a list of records that name each other by their numbers."


def _has_parts(value: Any) -> bool:
    return next(parts(value), None) is not None


def find_culprit(value: Any, problem: BaseException) -> tuple[Any, list[str], str]:
    """Returns the innermost part that cannot be pickled by itself, the steps that lead to it, and the reason."""
    path: list[str] = []
    seen: set[int] = set()
    budget = _MAX_PARTS
    while len(path) < _MAX_DEPTH:
        seen.add(id(value))
        for step, part in parts(value):
            budget -= 1
            if budget < 0:
                return value, path, _reason(problem)
            if id(part) in seen:
                continue
            found = failure(part)
            if found is not None:
                value, problem = part, found
                path.append(step)
                break
        else:
            break
    return value, path, _reason(problem)


def failure(value: Any) -> BaseException | None:
    """Returns the exception of pickling ``value``, None if there is none. It has no traceback."""
    try:
        pickling.dumps(value)
        return None
    except Exception as problem:
        return _bare(problem)


def _bare(problem: Exception) -> Exception:
    left: list[BaseException | None] = [problem]
    seen: set[int] = set()
    while left:
        one = left.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = None
            left += (one.__cause__, one.__context__)
    return problem


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the parts of a value that pickle looks at, each with the step that leads there."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"key {key!r}", key
            yield f"[{key!r}]", item
        if type(value) is dict:
            return
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
        if type(value) in (list, tuple):
            return
    elif isinstance(value, (set, frozenset)):
        yield from ((f"element {item!r}", item) for item in value)
    elif isinstance(value, types.FunctionType):
        yield from _captured(value)
        return
    elif isinstance(value, types.MethodType):
        yield ".__self__", value.__self__
        yield ".__func__", value.__func__
        return
    elif isinstance(value, type):
        for name, item in list(vars(value).items()):
            if not name.startswith("__") and isinstance(item, (staticmethod, classmethod)):
                yield f".{name}", item.__func__
            elif name not in ("__dict__", "__weakref__", "__doc__", "__module__"):
                yield f".{name}", item
        return
    state = getattr(value, "__dict__", None)
    if isinstance(state, dict):
        yield from ((f".{name}", item) for name, item in state.items())
    for klass in type(value).__mro__:
        slots = klass.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield f".{name}", getattr(value, name)


def _captured(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f"captured variable {name!r}", cell.cell_contents
        except ValueError:  # an empty cell
            continue
    codes = [function.__code__]
    seen: set[str] = set()
    while codes:
        code = codes.pop()
        codes.extend(const for const in code.co_consts if isinstance(const, types.CodeType))
        for name in code.co_names:
            if name in function.__globals__ and name not in seen:
                seen.add(name)
                yield f"global variable {name!r}", function.__globals__[name]
    yield from ((f"default {index}", item) for index, item in enumerate(function.__defaults__ or ()))


def _reason(problem: BaseException) -> str:
    return str(problem).rstrip(".") or type(problem).__name__


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
