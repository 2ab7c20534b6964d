"""The actor that a worker hosts: its instance, and the calls that one thread runs."""

from __future__ import annotations

import builtins
import functools
import sys
import threading
import traceback
import warnings
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NoReturn

from eagleray._private import context, task_error
from eagleray._private.calls import actor_kind, retrying
from eagleray._private.calls.arguments import ArgumentFailed, decode_args
from eagleray._private.context import here
from eagleray._private.ids import creation_of
from eagleray._private.worker import output
from eagleray._private.worker.results import error_origin
from eagleray._private.worker.runner import CallRunner, Ending, RetryOn, exit_of
from eagleray._private.worker.turns import awaits_turn
from eagleray.actor import ExitActor
from eagleray.exceptions import ActorDiedError, RayTaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from eagleray._private.worker.hosting import HostingWorker

#: The class of groups of exceptions, which exists from Python 3.11 on.
_GROUPS: Any = getattr(builtins, "BaseExceptionGroup", ())
EXIT_REASON = "exit_actor() was called"
#: How many characters of an exception are told to the daemon as the reason why the process ends.
_MOST_OF_REASON = 1000
EXIT_0_REASON = "sys.exit(0) was called, with exit code 0"


class Actor(CallRunner):
    """The instance and what is around it. Runs calls of its methods, on each of its threads one at a time."""

    kind = "method"

    def __init__(self, worker: HostingWorker, spec: dict[str, Any]) -> None:
        super().__init__(worker.hot, worker.idle_ms)
        self.worker = worker
        self.spec = spec
        if spec.get("exclusive"):
            self.begins = awaits_turn(worker.hot)
        self.instance: Any = None
        self.ended = False
        self.constructor: Coroutine[Any, Any, Any] | None = None
        self._class: Any = None
        self._load_problem: BaseException | None = None
        self._retry_on: dict[bytes, tuple[type[BaseException], ...]] = {}

    def load_class(self) -> Any:
        """The class; what loading it raised is told by ``construct``."""
        try:
            self._class = self.worker.load(self.spec["fid"], self.spec.get("fetched", False))
            if not isinstance(self._class, type):  # a Go program names it by its path
                raise TypeError(
                    f"{self.spec['class_name']} is not a class, so it cannot become an actor: {self._class!r}"
                )
        except BaseException as problem:
            self._load_problem = problem
        return self._class

    def construct(self, token: int, fmt: int, meta: bytes, buffers: Any, deps: Any) -> bool:
        """Makes the instance and tells the core. Does not return when that fails: the process ends.

        Returns:
            Whether the instance is ready. False: its constructor is a coroutine, for which ``construct_rest`` waits.
        """
        running = here.running
        name = f"{self.spec['class_name']}.__init__"
        running.name = name
        running.function = getattr(self._class, "__init__", None)
        running.task_id = creation_of(here.actor.id) if here.actor is not None else None
        try:
            if self._load_problem is not None:
                raise self._load_problem
            args, kwargs = decode_args(fmt, meta, buffers, deps)
            self.instance, self.constructor = _instantiate(self._class, args, kwargs)
        except BaseException as error:
            self._constructor_failed(token, name, error)
        if self.constructor is not None:
            return False
        self._constructed(token)
        return True

    async def construct_rest(self, token: int) -> None:
        """Runs a constructor that is a coroutine to its end, in the actor's event loop, and tells the core."""
        assert self.constructor is not None
        constructor, self.constructor = self.constructor, None
        try:
            await constructor
        except BaseException as error:
            del constructor
            self._constructor_failed(token, f"{self.spec['class_name']}.__init__", error, frames=1)
        self._constructed(token)

    def _constructed(self, token: int) -> None:
        shown = ""
        if getattr(type(self.instance), "__repr__", None) is not object.__repr__:
            try:
                shown = repr(self.instance)
                here.label = shown.replace("\n", " ")
            except Exception:  # the user's own; the class's name stays
                shown = ""
        task_id, here.running.task_id = here.running.task_id, None
        if here.in_section and task_id is not None:
            output.end_task(task_id)
        self.hot.actor_ready(token, True, shown.replace("\0", "").encode(errors="replace").decode(), b"", b"")

    def _constructor_failed(self, token: int, name: str, error: BaseException, frames: int = 2) -> NoReturn:
        if isinstance(error, (ExitActor, SystemExit)):
            self.hot.actor_ready(
                token, False, f"the constructor of {self.spec['class_name']} ended the actor", b"", b""
            )
            _let_go(error)
            self.worker.leave("its constructor ended it")
        origin = error_origin()
        lacking = None
        if isinstance(error, ArgumentFailed):
            lacking = "an argument of it could not be had"
            made: RayTaskError = task_error.argument_error(error.error, name, **origin)
        else:
            if error is self._load_problem:
                lacking = "the actor's class could not be loaded"
            made = task_error.task_error(error, name, skip=frames, **origin)
        died = ActorDiedError(made, lacking=lacking)
        text = task_error.shortened(died, task_error.BRIEF)
        print(f"The constructor {'did not run' if lacking else 'raised'}: {text}", file=sys.stderr)
        data, brief = task_error.encode(died), b""
        if len(data) > task_error.LARGE:
            brief = task_error.encode(ActorDiedError(task_error.brief(made), lacking=lacking))
        self.hot.actor_ready(token, False, text, data, brief)
        _let_go(error)
        self.worker.leave(f"its constructor failed: {text[:_MOST_OF_REASON]}")

    def retry_on(self, key: str, extra: bytes | None) -> RetryOn:
        """The exceptions that ``retry_exceptions`` of the call lists; ``extra`` is the id of the list."""
        if extra is None:
            return None
        found = self._retry_on.get(extra)
        if found is None:
            found = self._retry_on[extra] = retrying.load_classes(self.hot.function(extra))
        return found

    def find(self, key: str) -> Callable[..., Any]:
        """What a call of the method runs, bound to the instance."""
        instance = self.instance
        if self.ended:
            threading.Event().wait()  # another thread ends the process in this moment: the call does not begin
        found = self.known[key] = self._find(instance, key)
        return found

    def _find(self, instance: Any, name: str) -> Callable[..., Any]:
        if not name.startswith("__ray_"):
            return actor_kind.bound_method(instance, name)
        if name == "__ray_ready__":
            return _ready
        if name == "__ray_terminate__":
            return _terminate
        if name == "__ray_call__":
            return lambda fn, *args, **kwargs: fn(instance, *args, **kwargs)
        return actor_kind.bound_method(instance, name)

    def serve_system(self) -> NoReturn:
        """Takes the calls of the system group, on a thread that the core begins with the first of them."""
        if type(here.running) is context.Running:
            here.running = context.RunningBeside(here.running)
        self.serve(actor_kind.SYSTEM_GROUP)

    def serve(self, group: str = "") -> NoReturn:
        """Takes calls of a concurrency group on this thread until the actor ends; by default those of no group."""
        next_task = self.hot.next_task
        self.take(functools.partial(_next_of_group, next_task, group) if group else next_task)

    def handle(self, items: list[tuple[Any, ...]]) -> None:
        """Does what the daemon asks for besides calls."""
        item = items.pop()
        if item[0] == "forget":
            self.worker.forget(item[1])
        elif item[0] == "exit":
            self.end(Ending(str(item[1])))

    def ends(self, error: BaseException) -> Ending | None:
        """How the actor ends when ``exit_actor()`` or ``sys.exit`` was called.

        With another status of ``sys.exit`` than 0 the actor has failed and may be restarted.
        """
        if isinstance(error, ExitActor):
            return Ending(EXIT_REASON)
        if isinstance(error, SystemExit):
            return Ending(EXIT_0_REASON) if error.code == 0 else exit_of(error)
        return None

    def end(self, ending: Ending, token: int = 0) -> NoReturn:
        """Ends the actor and its process.

        The process of an actor that has failed ends at once. Otherwise the other calls that run end before, and those
        that wait are never begun.

        Args:
            ending: How it ends.
            token: The call that ends it, which is not answered; 0 when no call does.
        """
        if ending.status is None:
            self.hot.last_calls(token)
        self.ended = True
        self.known.clear()
        self.instance = None  # its ``__del__`` runs now, unless a call of another thread has it
        if ending.status is not None:
            self.worker.quit(ending.status)
        self.worker.leave(ending.reason)


def _instantiate(cls: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, Coroutine[Any, Any, Any] | None]:
    """An instance, and its constructor if that is a coroutine. Another value of a constructor is warned about."""
    if type(cls).__call__ is not type.__call__:
        return cls(*args, **kwargs), None
    instance = cls.__new__(cls, *args, **kwargs)
    if isinstance(instance, cls):
        returned = instance.__init__(*args, **kwargs)
        if isinstance(returned, CoroutineType):
            return instance, returned
        if returned is not None:
            warnings.warn(
                f"{cls.__name__}.__init__ returned {returned!r}: the value is ignored, a constructor returns None",
                stacklevel=1,
            )
    return instance, None


def _let_go(error: BaseException | None) -> None:
    """Lets go of what the code of a constructor held that has raised: its instance, whose ``__del__`` runs now."""
    seen: set[int] = set()  # a chain that the user has made may be a ring
    left = [error]
    while left:
        error = left.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        left += (error.__cause__, error.__context__)
        if isinstance(error, _GROUPS):
            group: Any = error
            left += group.exceptions


def _next_of_group(next_task: Callable[[int, str], Any], group: str, idle_ms: int) -> Any:
    return next_task(idle_ms, group)


def _ready() -> bool:
    return True


def _terminate() -> NoReturn:
    raise ExitActor
