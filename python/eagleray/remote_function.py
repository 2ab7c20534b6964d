"""Remote functions: ``@remote`` turns a function into one."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, ParamSpec, TypeVar, overload

from eagleray._private import functions
from eagleray._private.calls import environments, fallback, flow, placement, retrying
from eagleray._private.calls.gpu_watch import enforced
from eagleray._private.calls.option_types import TASK
from eagleray._private.calls.options import check_more_memory, check_options
from eagleray._private.calls.resources import ON_LEAK, check_together, task_resources, uses_accelerator
from eagleray._private.calls.signatures import CallShape, params_of
from eagleray._private.calls.submitter import Target, submitter
from eagleray._private.calls.templates import Templates, define
from eagleray._private.messages import pack
from eagleray._private.state import process
from eagleray._private.worker.leaks import WATCHED

if TYPE_CHECKING:
    from eagleray._private.calls.fallback import Fallback
    from eagleray._private.generators import ObjectRefGenerator
    from eagleray._private.refs import ObjectRef

P = ParamSpec("P")
R = TypeVar("R")
_COROUTINE = 0x80


class _Code:
    """What all options of a function share: how it is called, and its bytes, pickled at the first call of a session."""

    def __init__(self, function: Callable[..., Any], what: str, shape: CallShape | None = None) -> None:
        self.function = function
        self.what = what
        self.shape: CallShape = shape or CallShape(params_of(function, bound=False))
        self._made: dict[Any, tuple[int, bytes, bytes, functions.Captured]] = {}

    def export(
        self, session: Any, retry_on: tuple[type[BaseException], ...] | None
    ) -> tuple[bytes, bytes, functions.Captured]:
        """The fid and the bytes, together with the exceptions that the task is retried on if there are any.

        And the references that the function captured.
        """
        found = self._made.get(retry_on)
        if found is None or found[0] != process.epoch:
            code: Any = self.function if retry_on is None else functions.Filtered(self.function, retry_on)
            found = self._made[retry_on] = (process.epoch, *functions.export(code, self.what, session.hot))
        return found[1:]

    def __del__(self) -> None:
        # Workers keep functions, and with them what those captured: until nobody can call them any more.
        try:
            for epoch, fid, _, captured in self._made.values():
                if captured and epoch == process.epoch and process.session is not None:
                    process.session.hot.forget(fid)
        except Exception:  # the interpreter, or the session, is ending
            pass


class _Source(NamedTuple):
    """What submitting needs of a remote function. Not that itself: it would never go without the garbage collector."""

    function: Callable[..., Any]
    options: Mapping[str, Any]
    code: _Code
    generator: bool


class RemoteFunction(Generic[P, R]):
    """A function whose calls are tasks: ``f.remote(x)`` returns a reference at once, ``f.options(…)`` adjusts how."""

    def __init__(self, function: Callable[P, R], options: Mapping[str, Any], code: _Code | None = None) -> None:
        if function.__code__.co_flags & _COROUTINE:
            raise ValueError(
                "'async def' should not be used for remote tasks: call asyncio.run(f()) inside a plain function, "
                "or use an actor"
            )
        self._function = function
        self._options = dict(options)
        self._generator = flow.is_generator(function)
        fallback.normalise(self._options, _other_function)
        check_together(self._options)
        placement.check_together(self._options)
        self._function_name = f"{function.__module__}.{function.__qualname__}"
        self._code = code or _Code(function, f"the function {self._function_name}")
        self.__doc__ = function.__doc__
        self.remote = _submitter(_Source(function, self._options, self._code, self._generator))  # type: ignore[method-assign]

    if TYPE_CHECKING:
        # The last forms let references stand for values; a checker cannot say "any of P's parameters or a reference".
        @overload
        def remote(self, *args: P.args, **kwargs: P.kwargs) -> ObjectRef[R]: ...
        @overload
        def remote(self, ref: ObjectRef[Any], /, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...
        @overload
        def remote(self, a: Any, ref: ObjectRef[Any], /, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...
        @overload
        def remote(self, a: Any, b: Any, ref: ObjectRef[Any], /, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...
        @overload
        def remote(self, a: Any, b: Any, c: Any, ref: ObjectRef[Any], /, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...
        @overload
        def remote(self, **kwargs: ObjectRef[Any]) -> ObjectRef[R]: ...
        def remote(self, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...

    @overload
    def options(
        self,
        *,
        num_returns: Literal[1] = ...,
        fallback: Fallback | None = ...,
        fallback_after: float | None = ...,
        **options: Any,
    ) -> RemoteFunction[P, R]: ...
    @overload
    def options(self, *, num_returns: Literal["streaming"], **options: Any) -> RemoteFunctionStream[P]: ...
    @overload
    def options(
        self, *, num_returns: int, fallback: Fallback | None = ..., fallback_after: float | None = ..., **options: Any
    ) -> RemoteFunctionMany[P]: ...
    def options(self, **options: Any) -> Any:
        """The same function with some options changed for the calls made through the result."""
        check_options(options, TASK, in_options=True)
        flow.check_returns(options.get("num_returns"), self._generator, self._function_name, 2)
        return RemoteFunction(self._function, {**self._options, **options}, self._code)

    @property
    def _decorated(self) -> Callable[P, R]:
        return self._function

    def _remote(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        chosen: Any = self.options(**options) if options else self
        return chosen.remote(*(args or ()), **(kwargs or {}))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self._function_name
        raise TypeError(
            f"Remote functions cannot be called directly. Instead of running '{name}()', try '{name}.remote()'."
        )

    def __reduce__(self) -> Any:
        # In two steps, for functions that refer to themselves: the second comes when the first can be referred to.
        # The parameters travel along, for the function may be half made then.
        return RemoteFunction.__new__, (RemoteFunction,), (self._function, self._options, self._code.shape.params)

    def __setstate__(self, state: Any) -> None:
        function, options, params = state
        what = f"the function {function.__module__}.{function.__qualname__}"
        self.__init__(function, options, _Code(function, what, CallShape(params)))  # type: ignore[misc]


if TYPE_CHECKING:

    class RemoteFunctionStream(Generic[P]):
        """A remote generator function."""

        def remote(self, *args: Any, **kwargs: Any) -> ObjectRefGenerator[Any]: ...
        def options(self, **options: Any) -> RemoteFunctionStream[P]: ...

    class RemoteFunctionMany(Generic[P]):
        """A remote function with another number of results than one."""

        def remote(self, *args: Any, **kwargs: Any) -> list[ObjectRef[Any]]: ...
        def options(self, **options: Any) -> RemoteFunctionMany[P]: ...


def _other_function(target: Any, where: str) -> RemoteFunction[Any, Any]:
    """What a fallback names: a function, or what ``@remote`` made of one."""
    if isinstance(target, RemoteFunction):
        return target
    if isinstance(target, types.FunctionType):
        return RemoteFunction(target, {})
    raise TypeError(f"{where} of a remote function must name a function, got {target!r}")


def _submitter(made: _Source) -> Callable[..., Any]:
    """The function behind ``.remote``."""
    others = [entry[0]._code.shape for entry in made.options.get("fallback") or () if isinstance(entry, tuple)]

    def resolve() -> Target:
        session = process.require()
        spec, blobs, captured = _spec(made, session)
        if session.templates is None:
            session.templates = Templates()

        def whole() -> bytes:
            found = {**spec, "blob": blobs[0]}
            if "fallback" in spec:
                pairs = zip(spec["fallback"], blobs[1:], strict=True)
                found["fallback"] = [{**entry, "blob": blob} for entry, blob in pairs]
            return pack(found)

        if captured is None:
            template = session.templates.obtain(session, pack(spec), whole)
        else:  # not shared: the template must go with the function, whose references it holds
            template = define(session, whole())
        return Target(template, flow.results_of(made.options, made.generator), captured)

    return submitter(made.function.__name__, made.code.shape, resolve, others=others)


def _spec(made: _Source, session: Any) -> tuple[dict[str, Any], list[bytes], functions.Captured]:
    """What the core keeps of a function and its options for a session.

    Returns:
        The specification, the bytes of the function and of each alternative's, empty for the same function, and the
        references that these functions captured.
    """
    options, function = made.options, made.function
    results = flow.results_of(options, made.generator)
    check_more_memory(options)
    retries = options.get("max_retries")
    retry_on = options.get("retry_exceptions") or False
    filtered = tuple(retry_on) if isinstance(retry_on, (list, tuple)) else None
    fid, blob, captured = made.code.export(session, filtered)
    resources = task_resources(options)
    spec: dict[str, Any] = {
        "kind": "task",
        "name": options.get("name") or function.__name__,
        "fid": fid,
        "resources": resources,
        "env_key": environments.key_for(session, options.get("runtime_env")),
        "max_retries": retrying.default_retries() if retries is None else retries,
        "retry_exceptions": bool(retry_on),
        "retry_with_more_memory": bool(options.get("retry_with_more_memory")),
        "max_calls": _max_calls(options, resources),
        "gpu_memory_enforce": enforced(session, options, function.__name__),
        "hidden": options.get("enable_task_events") is False,
        "strategy": placement.strategy_of(options, function.__name__, resources),
        "method": "",
        **results.spec(),
    }
    blobs = [blob]
    if options.get("fallback"):
        alternatives: list[dict[str, Any]] = []
        spec["fallback"] = alternatives
        spec["fallback_after"] = float(options.get("fallback_after") or 0)
        for entry in options["fallback"]:
            other, needs = fallback.split(entry)
            resources = task_resources(needs)
            one: dict[str, Any] = {"resources": resources, "max_calls": _max_calls(options, resources)}
            blob = b""
            if other is not None:
                _check_alike(made, other, results.stream is not None)
                one["name"] = options.get("name") or other._function.__name__
                one["fid"], blob, more = other._code.export(session, filtered)
                captured = (captured or ()) + (more or ()) or None
            alternatives.append(one)
            blobs.append(blob)
    return spec, blobs, captured


def _check_alike(made: _Source, other: RemoteFunction[Any, Any], streams: bool) -> None:
    """Raises when one function streams its results and the one that stands in for it cannot, or the reverse."""
    if other._generator != made.generator and (streams or made.options.get("num_returns") is None):
        names = f"{made.function.__module__}.{made.function.__qualname__}", other._function_name
        one, rest = names if made.generator else names[::-1]
        raise ValueError(
            f"{one} is a generator function and {rest} is not: a fallback must return its results in the same way "
            "as the function that it replaces"
        )


def _max_calls(options: Mapping[str, Any], resources: Mapping[str, int]) -> int:
    """After how many calls a worker ends: one that has used a device keeps memory there, and is not used again."""
    stated: int | str | None = options.get("max_calls")
    if stated == ON_LEAK:
        return WATCHED if uses_accelerator(resources) else 0
    if isinstance(stated, int):
        return stated
    return 1 if uses_accelerator(resources) else 0
