"""An actor's class as its callers know it. A handle carries this as its metadata."""

from __future__ import annotations

import types
import weakref
from _blake2 import blake2b
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from eagleray._private.calls import flow, retrying
from eagleray._private.calls.signatures import CallShape, Param, params_of
from eagleray._private.calls.submitter import Target
from eagleray._private.calls.templates import Templates
from eagleray._private.functions import FID_SIZE
from eagleray._private.messages import pack, unpack
from eagleray._private.state import process

#: The attribute in which ``@method`` leaves its options.
METHOD_OPTIONS = "__eagleray_method__"
_COROUTINE = 0x80
#: The option of a method that names the concurrency group in which its calls run.
GROUP = "concurrency_group"
#: A concurrency group that every actor has.
SYSTEM_GROUP = "_ray_system"
_ASYNC_GENERATOR = 0x200

#: Methods that every actor has. ``__ray_call__(f, *args)`` runs ``f(self, *args)``.
BUILT_IN: dict[str, list[Param]] = {
    "__ray_ready__": [],
    "__ray_terminate__": [],
    "__ray_call__": [("fn", 0, False), ("args", 2, False), ("kwargs", 4, False)],
}


#: The metadata of an actor that a Go program made.
_UNKNOWN: dict[str, Any] = {
    "name": "actor",
    "methods": {name: ({}, params) for name, params in BUILT_IN.items()},
    "pending": -1,
    "retries": 0,
    "generators": [],
    "shared_limit": 0,
    "groups": {},
    "unordered": False,
    "hidden": False,
}


class MethodKind:
    """One method: its signature, and the number of results of a call."""

    __slots__ = ("generator", "name", "options", "shape")

    def __init__(self, name: str, options: dict[str, Any], params: list[Param] | None, generator: bool | None) -> None:
        self.name: str = name
        self.generator: bool | None = generator
        self.options: dict[str, Any] = options
        self.shape: CallShape = CallShape(params)


class _AnyMethods(dict[str, MethodKind]):
    """The methods of an actor that a Go program made, or of one that is written in Go.

    The class is not known here, so every name counts as a method.
    """

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a method for every name except special names."""
        found = super().get(name, default)
        if found is None and not name.startswith("__"):
            found = self[name] = MethodKind(name, {}, None, generator=None)
        return found


class ActorKind:
    """An actor class as its handles see it. All handles of the class share it, and its templates in the core."""

    __slots__ = (
        "__weakref__",
        "_epoch",
        "_templates",
        "class_name",
        "foreign",
        "groups",
        "hidden",
        "meta",
        "methods",
        "pending_limit",
        "shared_limit",
        "task_retries",
        "unordered",
    )

    def __init__(self, meta: bytes) -> None:
        found = unpack(meta) if meta else _UNKNOWN
        self.meta: bytes = meta
        self.class_name: str = found["name"]
        self.pending_limit: int = found["pending"]
        self.task_retries: int = found["retries"]
        self.shared_limit: int = found["shared_limit"]
        self.groups: dict[str, int] = found["groups"]
        self.unordered: bool = found.get("unordered", False)  # programs of an older release do not say it
        self.hidden: bool = found.get("hidden", False)
        generators = frozenset(found["generators"])
        self.methods: dict[str, MethodKind] = {
            name: MethodKind(name, options, params, name in generators)
            for name, (options, params) in found["methods"].items()
        }
        self.foreign: bool = bool(found.get("any"))  # its code is in another language
        if not meta or self.foreign:
            self.methods = _AnyMethods(self.methods)
        self._epoch = -1
        self._templates: Templates[tuple[Any, ...]] = Templates()

    def target(self, session: Any, method: str, options: Mapping[str, Any]) -> Target:
        """Returns the target of calls of a method with these options."""
        if self._epoch != process.epoch:
            self._epoch = process.epoch
            self._templates = Templates()
        results = flow.results_of(options, self.methods[method].generator, shared_limit=self.shared_limit > 0)

        def spec() -> bytes:
            classes = options.get("retry_exceptions")
            made = {
                "kind": "method",
                "name": options.get("name") or f"{self.class_name.rpartition('.')[2]}.{method}",
                "method": method,
                "max_retries": options.get("max_task_retries", self.task_retries),
                "retry_exceptions": bool(classes),
                **results.spec(),
            }
            if options.get(GROUP):
                made["group"] = options[GROUP]
            if options.get("enable_task_events", not self.hidden) is False:
                made["hidden"] = True
            if self.unordered:
                made["unordered"] = True
            if isinstance(classes, bytes):
                made |= {"fid": blake2b(classes, digest_size=FID_SIZE).digest(), "blob": classes}
            return pack(made)

        return Target(self._templates.obtain(session, (method, *sorted(options.items())), spec), results)


#: The options of an actor that its handles have to know.
_Described = tuple[int, int, int, tuple[tuple[str, int], ...], bool, bool]

#: The kinds that are in use. Kinds without any handle stay for a while.
_kinds: weakref.WeakValueDictionary[bytes, ActorKind] = weakref.WeakValueDictionary()
_latest_kinds: OrderedDict[bytes, ActorKind] = OrderedDict()
KEPT_KINDS = 200
#: Class → its latest numbers and metadata.
_descriptions: weakref.WeakKeyDictionary[type, tuple[_Described, bytes]] = weakref.WeakKeyDictionary()


def kind_of(meta: bytes) -> ActorKind:
    """Returns the kind that a handle's metadata describes."""
    found = _kinds.get(meta)
    if found is None:
        found = _kinds[meta] = ActorKind(meta)
    _latest_kinds[meta] = found
    _latest_kinds.move_to_end(meta)
    if len(_latest_kinds) > KEPT_KINDS:
        _latest_kinds.popitem(last=False)
    return found


def check_group(group: Any, groups: Mapping[str, int], method: str) -> None:
    """Refuses a concurrency group that the actor does not have.

    Args:
        group: The group that a method or a call names.
        groups: The groups that the actor's class declares.
        method: The method with its class, for messages.

    Raises:
        TypeError: the group is no name.
        ValueError: the class declares no such group.
    """
    if not isinstance(group, str):
        raise TypeError(f"concurrency_group takes the name of a group, a text; {method} has {group!r}")
    if group in groups or group == SYSTEM_GROUP:
        return
    declared = f"its class declares {', '.join(map(repr, groups))}" if groups else "its class declares none"
    raise ValueError(
        f"{method} names the concurrency group {group!r}, but {declared}. "
        f"Declare it in the decorator: @remote(concurrency_groups={{{group!r}: 1}})"
    )


def describe(
    cls: type,
    pending_limit: int,
    task_retries: int,
    shared_limit: int = 0,
    groups: Mapping[str, int] | None = None,
    *,
    unordered: bool = False,
    hidden: bool = False,
) -> bytes:
    """Returns the metadata for handles to actors of a class.

    Raises:
        TypeError, ValueError: a method is in a concurrency group that is not among ``groups``.
    """
    groups = groups or {}
    described = (pending_limit, task_retries, shared_limit, tuple(groups.items()), unordered, hidden)
    known = _descriptions.get(cls)
    if known is not None and known[0] == described:
        return known[1]
    methods: dict[str, Any] = {}
    generators: list[str] = []
    for name, function, bound in _functions(cls):
        options = dict(getattr(function, METHOD_OPTIONS, {}))
        if "retry_exceptions" in options:
            options["retry_exceptions"] = retrying.pack_classes(options["retry_exceptions"])
        if options.get(GROUP):
            check_group(options[GROUP], groups, f"{cls.__qualname__}.{name}")
        methods[name] = (options, params_of(function, bound=bound))
        if flow.is_generator(function):
            generators.append(name)
    for name, params in BUILT_IN.items():
        methods[name] = ({}, params)
    found = {
        "name": cls.__qualname__,
        "methods": methods,
        "pending": pending_limit,
        "retries": task_retries,
        "generators": generators,
        "shared_limit": shared_limit,
        "groups": dict(groups),
        "unordered": unordered,
        "hidden": hidden,
    }
    packed = pack(found)
    _descriptions[cls] = (described, packed)
    return packed


def describe_unknown(class_name: str, pending_limit: int, task_retries: int, *, unordered: bool, hidden: bool) -> bytes:
    """Returns the metadata for handles to an actor whose methods only its own program knows."""
    known = {"name": class_name, "pending": pending_limit, "retries": task_retries, "any": True}
    return pack({**_UNKNOWN, **known, "unordered": unordered, "hidden": hidden})


def constructor_shape(cls: type) -> CallShape:
    """Returns the signature of the class's constructor."""
    init = cls.__init__  # type: ignore[misc]
    if isinstance(init, types.FunctionType):
        return CallShape(params_of(init, bound=True))
    if getattr(cls, "__new__", None) is object.__new__:
        return CallShape([])
    return CallShape(None)  # built in, or made by __new__: the constructor itself raises for wrong arguments


def method_names(cls: type) -> list[str]:
    """Returns the methods that handles offer, without special methods."""
    return [name for name, _, _ in _functions(cls) if not name.startswith("__")]


def is_async(cls: type) -> bool:
    """Reports whether the class has coroutine methods. Its actor then runs an event loop."""
    return any(function.__code__.co_flags & (_COROUTINE | _ASYNC_GENERATOR) for _, function, _ in _functions(cls))


def bound_method(instance: Any, name: str) -> Callable[..., Any]:
    """Returns the function that a call of a method runs: the class's attribute of this name, bound to the instance.

    An attribute of the instance with the same name does not hide the method. A name that the class does not have,
    or that is no function there, is looked up on the instance.

    Raises:
        AttributeError: There is no such attribute, or it cannot be called. Handles of Python refuse such names when
            they are called; a Go program has names only.
    """
    cls = type(instance)
    found = getattr(cls, name, None)
    if isinstance(found, types.FunctionType):
        return found if _is_static(cls, name) else types.MethodType(found, instance)
    if isinstance(found, types.MethodType):
        return found
    other = getattr(instance, name)
    if not callable(other):
        raise AttributeError(
            f"{cls.__name__!r} object has no method {name!r}: its attribute of that name is of type "
            f"{type(other).__name__!r}, which cannot be called"
        )
    return cast("Callable[..., Any]", other)


def _is_static(cls: type, name: str) -> bool:
    """Reports whether this name is a static method in the first class that defines it."""
    holder = next((klass for klass in cls.__mro__ if name in vars(klass)), None)
    return holder is not None and isinstance(vars(holder)[name], staticmethod)


def _functions(cls: type) -> Iterator[tuple[str, types.FunctionType, bool]]:
    """Yields the methods of a class: name, function, and whether a call passes the instance or class first."""
    for name in dir(cls):
        try:
            found = getattr(cls, name)
        except AttributeError:
            continue
        if isinstance(found, types.FunctionType):
            yield name, found, not _is_static(cls, name)
        elif isinstance(found, types.MethodType) and isinstance(found.__func__, types.FunctionType):
            yield name, found.__func__, True
