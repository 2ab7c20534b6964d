"""Exceptions that are two things at once: a ``RayTaskError`` and what the task raised."""

from __future__ import annotations

import weakref
from types import GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eagleray.exceptions import RayTaskError

_classes: dict[type[BaseException], type[RayTaskError]] = {}


def dual_exception(error: RayTaskError, base: type[RayTaskError]) -> RayTaskError:
    """``error`` as an instance of ``base`` and of its cause's class.

    Returns ``error`` itself when the cause's class does not allow a subclass.
    """
    kind = type(error.cause)
    if issubclass(kind, base) or issubclass(base, kind):
        return error
    try:
        cls = _classes.get(kind)
        if cls is None:
            cls = _classes[kind] = _make_class(kind, base)
        return _make(cls, error)
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


def _make_class(kind: type[BaseException], base: type[RayTaskError]) -> type[RayTaskError]:
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
    made: type[RayTaskError] = type(name, (base, kind), body)
    return made


def _make(cls: type[RayTaskError], error: RayTaskError) -> RayTaskError:
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


def _allocate(cls: type[RayTaskError], args: tuple[Any, ...]) -> RayTaskError:
    try:
        return cls.__new__(cls, *args)
    except TypeError:
        # MemoryError has an allocator of its own that its memory layout, an Exception's, does not need.
        return Exception.__new__(cls, *args)


def _is_group(cause: BaseException) -> bool:
    # BaseExceptionGroup exists from Python 3.11 on.
    return any(klass.__name__ == "BaseExceptionGroup" for klass in type(cause).__mro__)


def _restore(error: RayTaskError) -> RayTaskError:
    return error.as_instanceof_cause()
