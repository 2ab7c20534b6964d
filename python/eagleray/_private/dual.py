"""Exceptions that are two things at once: a ``RayTaskError`` and what the task raised."""

from __future__ import annotations

import weakref
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Protocol, TypeVar


class _TaskError(Protocol):
    """What this module needs of ``RayTaskError``, which stands in a module above it."""

    cause: BaseException
    args: tuple[Any, ...]

    def as_instanceof_cause(self) -> Any: ...


E = TypeVar("E", bound=_TaskError)

_classes: dict[type[BaseException], type[Any]] = {}


def dual_exception(error: E, base: type[E]) -> E:
    """``error`` as an instance of ``base``, which is ``RayTaskError``, and of its cause's class.

    Returns ``error`` itself when the cause's class does not allow a subclass.
    """
    kind = type(error.cause)
    family: type[Any] = base
    if issubclass(kind, family) or issubclass(family, kind):
        return error
    try:
        cls = _classes.get(kind)
        if cls is None:
            cls = _classes[kind] = _make_class(kind, family)
        made: E = _make(cls, error)
        return made
    except Exception as problem:
        _warn(kind, problem)
        return error


_warned: weakref.WeakSet[type[BaseException]] = weakref.WeakSet()


def _warn(kind: type[BaseException], problem: Exception) -> None:
    """Says once for each class that ``except`` with this class will not catch what a task raised."""
    if kind in _warned:
        return
    _warned.add(kind)
    import logging

    logging.getLogger("eagleray.exceptions").warning(
        "A task raised %s.%s, and no class can be derived from that (%s: %s). The error is a RayTaskError and no %s: "
        "catch RayTaskError and look at its attribute 'cause'.",
        kind.__module__,
        kind.__qualname__,
        type(problem).__name__,
        problem,
        kind.__name__,
    )


def _make_class(kind: type[BaseException], base: type[Any]) -> type[Any]:
    # An attribute that the class does not define is the cause's, else the task error's.
    def getattribute(self: Any, name: str) -> Any:
        if name.startswith("__") or "cause" not in self.__dict__:
            raise AttributeError(name)
        try:
            return getattr(self.cause, name)
        except AttributeError:
            return getattr(self._task_error, name)

    name = f"RayTaskError({kind.__name__})"
    body = {
        "__module__": base.__module__,
        "__qualname__": name,
        "__doc__": f"A task raised {kind.__name__}.",
        "__init__": lambda self, *args, **kwargs: None,
        "__getattr__": getattribute,
        "__str__": lambda self: str(self._task_error),
        "__repr__": lambda self: f"{name}({self.cause!r})",
        "__reduce__": lambda self: (_restore, (self._task_error,)),
        "__eq__": object.__eq__,
        "__hash__": object.__hash__,
    }
    return type(name, (base, kind), body)


def _make(cls: type[Any], error: _TaskError) -> Any:
    cause = error.cause
    made = _allocate(cls, cause.args if _is_group(cause) else ())
    made.args = (cause,)
    made.__dict__["cause"] = cause
    made.__dict__["_task_error"] = error
    # What built-in classes keep outside the instance's dictionary (errno, filename, value …) and users' slots.
    for klass in type(cause).__mro__:
        if klass is Exception or klass is BaseException:
            break
        for name, member in vars(klass).items():
            if isinstance(member, (MemberDescriptorType, GetSetDescriptorType)) and not name.startswith("__"):
                try:
                    setattr(made, name, getattr(cause, name))
                except (AttributeError, TypeError):
                    continue
    return made


def _allocate(cls: type[Any], args: tuple[Any, ...]) -> Any:
    try:
        return cls.__new__(cls, *args)
    except TypeError:
        # MemoryError has an allocator of its own that its memory layout, an Exception's, does not need.
        return Exception.__new__(cls, *args)


def _is_group(cause: BaseException) -> bool:
    # BaseExceptionGroup exists from Python 3.11 on.
    return any(klass.__name__ == "BaseExceptionGroup" for klass in type(cause).__mro__)


def _restore(error: _TaskError) -> Any:
    return error.as_instanceof_cause()
