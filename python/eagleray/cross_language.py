"""Functions and actors in Go: what a Go program has registered with its package ``core/worker``, called from Python.

    mean = ray.cross_language.go_function("mean", worker="./goworker")
    ray.get(mean.remote([1.0, 2.0, 6.0]))

The program is a file of this machine. The nodes that run its functions get a copy of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from eagleray._private.calls import actor_creation, actor_kind, flow, go_worker, placement, retrying
from eagleray._private.calls.arguments import encode_args
from eagleray._private.calls.gpu_watch import enforced
from eagleray._private.calls.option_types import ACTOR, TASK
from eagleray._private.calls.options import check_more_memory, check_options
from eagleray._private.calls.resources import (
    ON_LEAK,
    actor_resources,
    check_together,
    task_resources,
    uses_accelerator,
)
from eagleray._private.calls.signatures import CallShape
from eagleray._private.calls.submitter import Target, submitter
from eagleray._private.calls.templates import Templates
from eagleray._private.hot_error import HotError
from eagleray._private.messages import pack
from eagleray._private.state import process
from eagleray.actor import ActorHandle, import_handle

#: The variable that names the program of functions and actors that name none.
_DEFAULT = "EAGLERAY_GO_PROGRAM"
#: Options that only Python code can have, and what to do without them.
_PYTHON_ONLY = {
    "fallback": "submit the alternative yourself",
    "fallback_after": "submit the alternative yourself",
    "concurrency_groups": "use max_concurrency",
    flow.EACH: "yield the objects one by one",
    flow.SHARED_LIMIT: f"limit each call with {flow.LIMIT}",
}


def go_function(name: str, worker: str | os.PathLike[str] | None = None) -> GoFunction:
    """A function that a Go worker program has registered.

    Args:
        name: The name that it has registered.
        worker: The path of the program; by default what the variable ``EAGLERAY_GO_PROGRAM`` says.

    Returns:
        The function, with ``.remote()`` and ``.options()``. An unknown name is an error of its calls.

    Raises:
        ValueError: the program does not exist, or cannot be executed.
    """
    go_worker.code_of(name)
    return GoFunction(name, _program(worker), {})


def go_actor_class(name: str, worker: str | os.PathLike[str] | None = None) -> GoActorClass:
    """A kind of actors that a Go worker program has registered.

    Args:
        name: The name that it has registered.
        worker: The path of the program; by default what the variable ``EAGLERAY_GO_PROGRAM`` says.

    Returns:
        The class, with ``.remote()`` and ``.options()``. Methods have the names that they have in Go.

    Raises:
        ValueError: the program does not exist, or cannot be executed.
    """
    go_worker.code_of(name)
    return GoActorClass(name, _program(worker), {})


def _program(worker: str | os.PathLike[str] | None) -> str:
    if worker is None:
        worker = os.environ.get(_DEFAULT) or None
    if worker is None:
        raise ValueError(
            f"which Go program has registered it? Give the path as worker=, or set the variable {_DEFAULT}"
        )
    return go_worker.program_path(worker)


def _check(options: Mapping[str, Any], kind: str, what: str) -> None:
    """Raises when an option is wrong, or is one that Go code cannot have."""
    check_options(options, kind, in_options=False)  # there is no decorator for Go code
    for name, value in options.items():
        if value is None:
            continue
        if name in _PYTHON_ONLY:
            raise ValueError(f"{what} is written in Go and cannot have {name}=: {_PYTHON_ONLY[name]}")
        if name == "retry_exceptions" and isinstance(value, (list, tuple)):
            raise ValueError(
                f"retry_exceptions of {what} lists classes of Python, and Go has errors: give True, and let the "
                "function return worker.NoRetry(err) for what is not to be retried"
            )
        if name == "max_calls" and value == ON_LEAK:
            raise ValueError(f"max_calls={ON_LEAK!r} measures Python workers, and {what} is written in Go")
        if name == "num_returns" and value == flow.DYNAMIC:
            raise ValueError(f"num_returns='dynamic' is for Python generators: {what} streams with 'streaming'")
    go_worker.check_runtime_env(options.get("runtime_env"))


class GoFunction:
    """A Go function whose calls are tasks: ``f.remote(x)`` returns a reference, ``f.options(…)`` adjusts how."""

    def __init__(self, name: str, program: str, options: Mapping[str, Any]) -> None:
        self._name = name
        self._program = program
        self._options = dict(options)
        check_together(self._options)
        placement.check_together(self._options)
        self.__name__: str = name
        self.remote: Callable[..., Any] = _submitter(name, program, self._options)
        """Calls the function with positional arguments. The result is as of a remote function in Python."""

    def options(self, **options: Any) -> GoFunction:
        """The same function with some options changed for the calls made through the result.

        A stream is called with ``num_returns="streaming"``.
        """
        _check(options, TASK, f"the Go function {self._name}")
        return GoFunction(self._name, self._program, {**self._options, **options})

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Go functions cannot be called directly. Instead of running '{self._name}()', try '{self._name}.remote()'."
        )

    def __repr__(self) -> str:
        return f"GoFunction({self._name!r}, worker={self._program!r})"

    def __reduce__(self) -> Any:
        return GoFunction, (self._name, self._program, self._options)


def _submitter(name: str, program: str, options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function behind ``.remote``."""

    def resolve() -> Target:
        session = process.require()
        results = flow.results_of(options, None)
        check_more_memory(options)
        fid, blob = go_worker.code_of(name)
        resources = task_resources(options)
        retries, most = options.get("max_retries"), options.get("max_calls")
        spec: dict[str, Any] = {
            "kind": "task",
            "name": options.get("name") or name,
            "fid": fid,
            "resources": resources,
            "env_key": go_worker.key_for(session, options.get("runtime_env"), program),
            "max_retries": retrying.default_retries() if retries is None else retries,
            "retry_exceptions": bool(options.get("retry_exceptions")),
            "retry_with_more_memory": bool(options.get("retry_with_more_memory")),
            "max_calls": most if most is not None else int(uses_accelerator(resources)),
            "gpu_memory_enforce": enforced(session, options, name),
            "hidden": options.get("enable_task_events") is False,
            "strategy": placement.strategy_of(options, name, resources),
            "method": "",
            **results.spec(),
        }
        if session.templates is None:
            session.templates = Templates()
        template = session.templates.obtain(session, pack(spec), lambda: pack({**spec, "blob": blob}))
        return Target(template, results)

    return submitter(name, CallShape(None), resolve)


class GoActorClass:
    """A kind of actors in Go: ``A.remote(…)`` makes one, ``A.options(…)`` adjusts how."""

    def __init__(self, name: str, program: str, options: Mapping[str, Any]) -> None:
        if options.get("get_if_exists") and options.get("name") is None:
            raise ValueError("The actor name must be specified to use 'get_if_exists'.")
        self._name = name
        self._program = program
        self._options = dict(options)
        self._concurrent: bool = (options.get("max_concurrency") or 1) > 1
        if self._concurrent and options.get("allow_out_of_order_execution") is False:
            raise ValueError(
                f"The Go actor {name} runs several calls at a time (max_concurrency), so its calls cannot be kept in "
                "order: leave out allow_out_of_order_execution=False"
            )
        check_together(self._options)
        placement.check_together(self._options)
        self.__name__: str = name

    def options(self, **options: Any) -> GoActorClass:
        """The same class with some options changed for the actors made through the result."""
        _check(options, ACTOR, f"the Go actor {self._name}")
        return GoActorClass(self._name, self._program, {**self._options, **options})

    def remote(self, *args: Any, **kwargs: Any) -> ActorHandle[Any]:
        """Makes an actor and returns its handle at once. The first ``get`` raises an error of the constructor."""
        session = process.require()
        options, name = self._options, self._options.get("name")
        if name == "":
            raise ValueError("Actor name cannot be an empty string.")
        creation, running = actor_resources(options)
        strategy = placement.strategy_of(options, self._name, running, creation)
        if not placement.in_group(strategy):
            actor_creation.check_fits(session, self._name, [creation])
        fid, blob = go_worker.code_of(self._name)
        pending = options.get("max_pending_calls")
        pending = -1 if pending is None else pending
        retries = options.get("max_task_retries") or 0
        unordered = self._concurrent or bool(options.get("allow_out_of_order_execution"))
        hidden = options.get("enable_task_events") is False
        meta = actor_kind.describe_unknown(self._name, pending, retries, unordered=unordered, hidden=hidden)
        spec: dict[str, Any] = {
            "class_name": self._name,
            "name": name or "",
            "namespace": options.get("namespace") or session.namespace,
            "detached": options.get("lifetime") == "detached",
            "get_if_exists": bool(options.get("get_if_exists")),
            "resources": creation,
            "run_resources": running,
            "gpu_memory_enforce": enforced(session, options, self._name),
            "env_key": go_worker.key_for(session, options.get("runtime_env"), self._program),
            "max_restarts": options.get("max_restarts") or 0,
            "max_task_retries": retries,
            "max_concurrency": options.get("max_concurrency") or 1,
            "max_pending_calls": pending,
            "fid": fid,
            "blob": blob,
            "meta": meta,
            "fallback": [],
            "fallback_after": 0.0,
            "strategy": strategy,
            "exclusive": {None: 0, True: 1, False: 2}[options.get("exclusive")],
            "code": b"",
        }
        encoded = encode_args(args, kwargs, CallShape(None), f"the constructor of {self._name}")
        try:
            made, found = session.hot.actor_create(pack(spec), *encoded)
        except HotError as error:
            raise actor_creation.explain_error(error, spec) from None
        if found is not None:  # get_if_exists
            return import_handle(made, "", found)
        return ActorHandle(made, actor_kind.kind_of(meta))

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = self._name
        raise TypeError(f"Actors cannot be instantiated directly. Instead of '{name}()', use '{name}.remote()'.")

    def __repr__(self) -> str:
        return f"GoActorClass({self._name!r}, worker={self._program!r})"

    def __reduce__(self) -> Any:
        return GoActorClass, (self._name, self._program, self._options)


def __getattr__(name: str) -> Any:
    from eagleray._private import missing

    raise missing.attribute("eagleray.cross_language", name, sys._getframe(1))


__all__ = ["GoActorClass", "GoFunction", "go_actor_class", "go_function"]
