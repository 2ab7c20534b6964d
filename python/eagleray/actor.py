"""Actors: objects that live in a worker of their own and are called through handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar, overload

from eagleray._private import context, functions
from eagleray._private.calls import actor_creation, actor_kind, environments, fallback, flow, method_options, placement
from eagleray._private.calls.actor_kind import METHOD_OPTIONS, ActorKind, MethodKind
from eagleray._private.calls.arguments import encode_args
from eagleray._private.calls.control import rpc
from eagleray._private.calls.core import refuse_in_fork
from eagleray._private.calls.gpu_watch import enforced
from eagleray._private.calls.option_types import ACTOR
from eagleray._private.calls.options import check_options
from eagleray._private.calls.resources import actor_resources, check_together
from eagleray._private.calls.signatures import CallShape
from eagleray._private.calls.submitter import Target, submitter
from eagleray._private.hot_error import HotError, explain
from eagleray._private.ids import ActorID
from eagleray._private.messages import pack
from eagleray._private.state import Session, process
from eagleray._private.values import large_code, pickling
from eagleray.exceptions import ActorHandleNotFoundError

if TYPE_CHECKING:
    from eagleray._private.calls.fallback import Fallback
    from eagleray._private.refs import ObjectRef

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
_ASYNC_CONCURRENCY = 1000
#: How many threads one actor may have: the kernel has numbers for some 32,000 on many machines.
_MOST_THREADS = 32_768
#: Special attributes that an actor class has of its class; its others are its own.
_OF_CLASS = frozenset({"__qualname__", "__annotations__", "__match_args__", "__dataclass_fields__"})


class ActorMethod(Generic[P, R]):
    """A method of a living actor: ``a.m.remote(x)`` returns a reference at once."""

    def __init__(self, core: Any, epoch: int, kind: ActorKind, method: MethodKind, options: Mapping[str, Any]) -> None:
        # Holds the core's part of the handle, not the handle, which keeps its methods: no cycle delays the actor's end.
        self._core = core
        self._epoch = epoch
        self._kind = kind
        self._method = method
        self._options = options
        self.remote = _submitter(core, epoch, kind, method, options)  # type: ignore[method-assign]

    if TYPE_CHECKING:

        @overload
        def remote(self, *args: P.args, **kwargs: P.kwargs) -> ObjectRef[R]: ...
        @overload
        def remote(self, ref: ObjectRef[Any], /, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...
        @overload
        def remote(self, a: Any, ref: ObjectRef[Any], /, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...
        @overload
        def remote(self, **kwargs: ObjectRef[Any]) -> ObjectRef[R]: ...
        def remote(self, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...

    def options(self, **options: Any) -> ActorMethod[P, R]:
        """The method with some options changed for the calls made through the result."""
        options = method_options.of_call(options, self._kind, self._method)
        return ActorMethod(self._core, self._epoch, self._kind, self._method, {**self._options, **options})

    def __reduce__(self) -> Any:
        # As its handle does, it counts as a reference to the actor for as long as it exists.
        handle: ActorHandle[Any] = ActorHandle(self._core, self._kind)
        handle._er_epoch = self._epoch
        return import_method, (handle, self._method.name, self._options)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ActorMethod)
            and self._core.actor_id == other._core.actor_id
            and self._method.name == other._method.name
            and self._options == other._options
        )

    def __hash__(self) -> int:
        return hash((self._core.actor_id, self._method.name))

    def __repr__(self) -> str:
        return f"ActorMethod({self._kind.class_name}.{self._method.name}, {self._core.actor_id.hex()})"

    def _remote(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        chosen: Any = self.options(**options) if options else self
        return chosen.remote(*(args or ()), **(kwargs or {}))

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = self._method.name
        raise TypeError(
            f"Actor methods cannot be called directly. Instead of running 'object.{name}()', "
            f"try 'object.{name}.remote()'."
        )


def _submitter(
    core: Any, epoch: int, kind: ActorKind, method: MethodKind, options: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function behind a method's ``.remote``. It does not refer to the handle, see ``ActorMethod``."""
    chosen = {**method.options, **options}

    def resolve() -> Target:
        if process.epoch != epoch:
            raise stale_handle(kind.class_name)
        return kind.target(process.require(), method.name, chosen)

    return submitter(f"{kind.class_name}.{method.name}", method.shape, resolve, core)


def stale_handle(class_name: str) -> ActorHandleNotFoundError:
    """The error for a handle that outlived its session, or its process: a fork has none."""
    refuse_in_fork()
    return ActorHandleNotFoundError(
        f"this handle to an actor of class {class_name} was made in a session that was shut down; the actor ended "
        "with it. Make a new actor in this session."
    )


#: States of actors by their names.
_STATES = {"ALIVE": 2, "RESTARTING": 3, "DEAD": 4}


class ActorHandle(Generic[T]):
    """Refers to an actor. The actor ends when its last handle is gone, unless it is detached."""

    __slots__ = ("__dict__", "__weakref__", "_er_core", "_er_epoch", "_er_id", "_er_kind")

    def __init__(self, core: Any, kind: ActorKind) -> None:
        self._er_core = core
        self._er_id: bytes = core.actor_id
        self._er_kind = kind
        self._er_epoch = process.epoch

    @property
    def _actor_id(self) -> ActorID:
        return ActorID(self._er_id)

    def _get_local_state(self) -> int | None:
        """What this process knows of the actor without asking for it, as Ray's libraries read it.

        Returns:
            2: it is alive, 3: it restarts, 4: it is dead; None if it is not known to run yet.
        """
        if self._er_epoch != process.epoch:
            return _STATES["DEAD"]
        return _STATES.get(rpc(process.require(), "actor_known", {"actor_id": self._er_id}))

    def __getattr__(self, name: str) -> ActorMethod[..., Any]:
        method = self._er_kind.methods.get(name)
        if method is None:
            raise AttributeError(
                f"'ActorHandle' object has no attribute {name!r}; the methods of {self._er_kind.class_name} are "
                f"{', '.join(_public(self._er_kind))}"
            )
        made: ActorMethod[..., Any] = ActorMethod(self._er_core, self._er_epoch, self._er_kind, method, {})
        self.__dict__[name] = made
        return made

    def __dir__(self) -> list[str]:
        return sorted({"__init__", *self._er_kind.methods})

    def __repr__(self) -> str:
        return f"Actor({self._er_kind.class_name}, {self._er_id.hex()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorHandle) and self._er_id == other._er_id

    def __hash__(self) -> int:
        return hash(self._er_id)

    def __copy__(self) -> ActorHandle[T]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ActorHandle[T]:
        return self

    def __reduce__(self) -> Any:
        if self._er_epoch != process.epoch:
            raise stale_handle(self._er_kind.class_name)
        return import_handle, (*pickling.export_handle(self._er_core), self._er_kind.meta)


def _public(kind: ActorKind) -> list[str]:
    return [name for name in kind.methods if not name.startswith("__")]


def import_handle(actor_id: bytes, token: str, meta: bytes) -> ActorHandle[Any]:
    """A handle to an actor that another process made.

    Args:
        actor_id: The actor.
        token: What counts the handle; empty for actors that handles do not keep alive.
        meta: What ``actor_kind.describe`` made.
    """
    kind = actor_kind.kind_of(meta)
    try:
        core = process.require().hot.actor_handle(actor_id, token, kind.class_name, kind.pending_limit)
    except HotError as error:
        raise explain(error) from None
    pickling.arrived(core)
    return ActorHandle(core, kind)


def import_method(handle: ActorHandle[Any], name: str, options: Mapping[str, Any]) -> ActorMethod[..., Any]:
    """A method of an actor that another process has pickled."""
    return ActorMethod(handle._er_core, handle._er_epoch, handle._er_kind, handle._er_kind.methods[name], options)


#: For annotations: ``a: ActorProxy[A]`` lets checkers see the methods of ``A`` that ``@method`` marks.
ActorProxy = ActorHandle[T] | type[T]


class ActorClassInheritanceException(TypeError):
    """A class was derived from an actor class."""


class ActorClass(Generic[T]):
    """A class whose instances are actors: ``A.remote(…)`` makes one, ``A.options(…)`` adjusts how."""

    def __init__(self, cls: type[T], options: Mapping[str, Any], *extra: Any, shape: CallShape | None = None) -> None:
        if extra:
            names = [base.__name__ for base in options if isinstance(base, ActorClass)]
            raise ActorClassInheritanceException(
                f"Attempted to define subclass {cls!r} of the actor class {', '.join(map(repr, names))}. Let a plain "
                "class inherit, and decorate the result."
            )
        abstract = getattr(cls, "__abstractmethods__", None)
        if abstract:
            names = sorted(abstract)
            raise TypeError(
                f"{cls.__name__} cannot become an actor class: it is abstract, its methods {', '.join(names)} are not "
                "implemented. Decorate a class that implements them."
            )
        if options.get("get_if_exists") and options.get("name") is None:
            raise ValueError("The actor name must be specified to use 'get_if_exists'.")
        self._set(cls, options, shape or actor_kind.constructor_shape(cls))
        fallback.normalise(self._options, self._other_class)
        check_together(self._options)
        placement.check_together(self._options)

    def _set(self, cls: type[T], options: Mapping[str, Any], shape: CallShape) -> None:
        self._cls = cls
        self._options = dict(options)
        self._shape = shape
        self._exported: list[tuple[int, bytes, bytes, functions.Captured]] = []  # one at most
        self.__doc__ = cls.__doc__
        self.__name__: str = cls.__name__

    def remote(self, *args: Any, **kwargs: Any) -> ActorHandle[T]:
        """Makes an actor and returns its handle at once. The first ``get`` raises an error of the constructor."""
        session = process.require()
        self._shape.check(args, kwargs)
        options = self._options
        name = options.get("name")
        if name == "":
            raise ValueError("Actor name cannot be an empty string.")
        creation, running = actor_resources(options)
        strategy = placement.strategy_of(options, self.__name__, running, creation)
        alternatives = [fallback.split(entry) for entry in options.get("fallback") or ()]
        for other, _ in alternatives:
            if other is not None:
                other._shape.check(args, kwargs)
        rest = [_alternative(session, other, needs, options) for other, needs in alternatives]
        if not placement.in_group(strategy):
            actor_creation.check_fits(session, self.__name__, [creation, *(one["resources"] for one in rest)])
        fid, blob, captured = self._export(session)
        pending = options.get("max_pending_calls")
        pending = -1 if pending is None else pending
        shared_limit = max(0, options.get(flow.SHARED_LIMIT) or 0)
        groups = options.get("concurrency_groups")
        meta = actor_kind.describe(
            self._cls,
            pending,
            options.get("max_task_retries") or 0,
            shared_limit,
            groups,
            unordered=_unordered(self._cls, options),
        )
        spec = {
            "class_name": self.__name__,
            "name": name or "",
            "namespace": options.get("namespace") or session.namespace,
            "detached": options.get("lifetime") == "detached",
            "get_if_exists": bool(options.get("get_if_exists")),
            "resources": creation,
            "run_resources": running,
            "gpu_memory_enforce": enforced(session, options, self.__name__),
            "env_key": environments.key_for(session, options.get("runtime_env")),
            "max_restarts": options.get("max_restarts") or 0,
            "max_task_retries": options.get("max_task_retries") or 0,
            "max_concurrency": _concurrency(self._cls, options),
            "max_pending_calls": pending,
            "fid": fid,
            "blob": blob,
            "meta": meta,
            "fallback": rest,
            "fallback_after": float(options.get("fallback_after") or 0),
            "strategy": strategy,
            "exclusive": {None: 0, True: 1, False: 2}[options.get("exclusive")],
            "code": b"",
        }
        for one in rest:
            captured = (captured or ()) + (one.pop("captured", None) or ()) or None
        if spec["detached"]:  # it may start when this program, which owns what is in the store, has ended
            for one in (spec, *rest):
                one["code"] = large_code.object_of(one.get("blob") or b"")
            kept = captured  # until the cluster has its copies
            captured = large_code.without(kept, {one["code"] for one in (spec, *rest)})
        *encoded, nested = encode_args(args, kwargs, self._shape, f"{self.__name__}.__init__")
        if captured is not None:
            nested = captured + (nested or ())
        try:
            made, found = session.hot.actor_create(pack(spec), *encoded, nested)
        except HotError as error:
            raise actor_creation.explain_error(error, spec) from None
        if found is not None:  # get_if_exists
            return import_handle(made, "", found)
        return ActorHandle(made, actor_kind.kind_of(meta))

    if TYPE_CHECKING:

        @overload
        def options(
            self, *, fallback: Fallback | None = ..., fallback_after: float | None = ..., **options: Any
        ) -> ActorClass[T]: ...
        @overload
        def options(self, **options: Any) -> ActorClass[T]: ...

    def options(self, **options: Any) -> ActorClass[T]:
        """The same class with some options changed for the actors made through the result."""
        check_options(options, ACTOR, in_options=True)
        made: ActorClass[T] = ActorClass(self._cls, {**self._options, **options}, shape=self._shape)
        made._exported = self._exported  # shared: the first of them that makes an actor pickles the class for all
        return made

    def _export(self, session: Session) -> tuple[bytes, bytes, functions.Captured]:
        """The fid and the bytes of the class, made once in a session, and the references inside."""
        known = self._exported
        if not known or known[0][0] != process.epoch:
            exported = functions.export(self._cls, f"the actor class {self.__name__}", session.hot)
            known[:] = [(process.epoch, *exported)]
        return known[0][1:]

    def _other_class(self, target: Any, where: str) -> ActorClass[Any]:
        """What a fallback names: a class, or what ``@remote`` made of one, that has this one's methods."""
        if isinstance(target, type):
            target = ActorClass(target, {})
        if not isinstance(target, ActorClass):
            raise TypeError(f"{where} of an actor must name a class, got {target!r}")
        missing = [name for name in actor_kind.method_names(self._cls) if not hasattr(target._cls, name)]
        if missing:
            raise ValueError(
                f"{where} names the class {target.__name__}, which lacks {', '.join(missing)}: handles call the "
                f"methods of {self._cls.__name__}, so every alternative must have them"
            )
        return target

    @property
    def _decorated(self) -> type[T]:
        return self._cls

    def _remote(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        chosen: Any = self.options(**options) if options else self
        return chosen.remote(*(args or ()), **(kwargs or {}))

    if not TYPE_CHECKING:  # checkers are to find misspelt names

        def __getattr__(self, name: str) -> Any:
            # Class attributes, static methods and class methods are the class's own.
            cls = self.__dict__.get("_cls")
            if cls is None or (name.startswith("__") and name.endswith("__") and name not in _OF_CLASS):
                raise AttributeError(name)
            try:
                return getattr(cls, name)
            except AttributeError:
                raise AttributeError(f"the actor class {self.__name__} has no attribute {name!r}") from None

        def __dir__(self) -> list[str]:
            return sorted({*object.__dir__(self), *dir(self._cls)})

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = self.__name__
        raise TypeError(f"Actors cannot be instantiated directly. Instead of '{name}()', use '{name}.remote()'.")

    def __repr__(self) -> str:
        return f"<{self._cls.__module__}.ActorClass({self.__name__}) object at {id(self):#x}>"

    def __reduce__(self) -> Any:
        # In two steps, for classes that refer to themselves: the second comes when the first can be referred to.
        # The parameters travel along, for the class may be half made then.
        given = {name: value for name, value in self.__dict__.items() if name not in _OWN}
        return ActorClass.__new__, (ActorClass,), (self._cls, self._options, self._shape.params, given)

    def __setstate__(self, state: Any) -> None:
        cls, options, params, given = state
        self._set(cls, options, CallShape(params))
        self.__dict__.update(given)


#: What an actor class keeps itself; other attributes were set by the program and travel with it.
_OWN = frozenset({"_cls", "_options", "_shape", "_exported", "__doc__", "__name__", "__orig_class__"})


def _concurrency(cls: type, options: Mapping[str, Any]) -> int:
    stated: int | None = options.get("max_concurrency")
    if actor_kind.is_async(cls):
        return stated or _ASYNC_CONCURRENCY
    threads = (stated or 1) + sum((options.get("concurrency_groups") or {}).values())
    if threads > _MOST_THREADS:
        raise ValueError(
            f"the actor {cls.__name__} would have {threads} threads (max_concurrency and concurrency_groups together), "
            f"and at most {_MOST_THREADS} are allowed. Calls of a class with coroutine methods need no threads"
        )
    return stated or 1


def _unordered(cls: type, options: Mapping[str, Any]) -> bool:
    """Whether calls whose arguments are late let later calls begin. Calls that run at the same time have no order."""
    stated: bool | None = options.get("allow_out_of_order_execution")
    asynchronous = actor_kind.is_async(cls)
    concurrent = asynchronous or (options.get("max_concurrency") or 1) > 1
    if concurrent and stated is False:
        why = "has coroutine methods" if asynchronous else "runs several calls at a time (max_concurrency)"
        raise ValueError(
            f"The actor {cls.__name__} {why}, so its calls cannot be kept in order: leave out "
            "allow_out_of_order_execution=False"
        )
    return concurrent or bool(stated)


def _alternative(
    session: Session, other: ActorClass[Any] | None, needs: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """What the core keeps of one alternative."""
    creation, running = actor_resources(needs)
    found: dict[str, Any] = {"resources": creation, "run_resources": running}
    if other is not None:
        found["fid"], found["blob"], found["captured"] = other._export(session)
        found["name"] = other.__name__
        found["max_concurrency"] = _concurrency(other._cls, options)
    return found


if TYPE_CHECKING:

    @overload
    def method(function: Callable[Concatenate[Any, P], R], /) -> ActorMethod[P, R]: ...
    @overload
    def method(
        *, num_returns: int = ..., concurrency_group: str = ..., **options: Any
    ) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def method(*args: Any, **kwargs: Any) -> Any:
    """Sets options of an actor's method, as ``@method(num_returns=2)``."""
    bare = len(args) == 1 and callable(args[0]) and not kwargs
    if args and not bare:
        raise AssertionError(
            "The @method decorator takes either no arguments, as '@method', or options by keyword, as "
            "'@method(num_returns=2)'."
        )
    method_options.check_decorator(kwargs)

    def annotate(function: Any) -> Any:
        code = getattr(function, "__code__", None)
        if code is not None and "num_returns" in kwargs:
            flow.check_returns(kwargs["num_returns"], flow.is_generator(function), function.__qualname__, 2)
        setattr(function, METHOD_OPTIONS, kwargs)
        return function

    return annotate(args[0]) if bare else annotate


class ExitActor(BaseException):
    """Unwinds a method that called ``exit_actor``."""


class _Exits:
    """What ``exit_actor`` does in the event loop of an actor.

    Attributes:
        beside: Ends the actor, if the calling coroutine belongs to none of its calls. Nobody waits for such a
            coroutine, and so nobody sees that it was unwound. None where no event loop runs calls.
    """

    def __init__(self) -> None:
        self.beside: Callable[[], None] | None = None


exits = _Exits()


def exit_actor() -> NoReturn:
    """Ends the actor that runs the calling method, after its earlier calls are answered.

    Raises:
        TypeError: not called in an actor.
    """
    if context.actor_id() is None:
        raise TypeError("exit_actor API is called on a non-actor worker: it works inside the methods of an actor only")
    if exits.beside is not None:
        exits.beside()
    raise ExitActor


__all__ = ["ActorClass", "ActorClassInheritanceException", "ActorHandle", "ActorMethod", "exit_actor", "method"]
