"""``Pool``: the standard library's pool of processes, with actors in their place."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Sized
from functools import partial
from typing import Any, NoReturn, TypeVar

from eagleray._private.session import api, driver
from eagleray._private.session.decorator import remote
from eagleray._private.state import process
from eagleray.util.multiprocessing.iterators import IMapIterator, OrderedIMapIterator, UnorderedIMapIterator
from eagleray.util.multiprocessing.results import AsyncResult, Callbacks
from eagleray.util.multiprocessing.worker import Code, PoolActor, ship

__all__ = ["AsyncResult", "IMapIterator", "OrderedIMapIterator", "Pool", "UnorderedIMapIterator"]

T = TypeVar("T")
_Callback = Callable[[Any], object] | None
_ErrorCallback = Callable[[Exception], object] | None


class Pool:
    """Actors that call functions with many arguments, in the manner of ``multiprocessing.Pool``.

    Args:
        processes: Number of actors; the number of CPUs of the cluster when None.
        initializer: Is called in each actor when it starts, also when it starts again after a crash.
        initargs: Arguments of ``initializer``.
        maxtasksperchild: After this number of chunks an actor ends and a new one takes its place.
        context: Accepted and ignored, with a warning: the workers are actors.
        ray_address: The cluster to join when the program has no session, as ``init`` takes it.
        ray_remote_args: Options of the actors, such as ``{"num_cpus": 1}``. By default they need no resources, and
            start again after crashes.

    Raises:
        ValueError: ``processes`` is less than 1 or more than the CPUs of the cluster, or ``maxtasksperchild`` is less
            than 1.
    """

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] | None = None,
        maxtasksperchild: int | None = None,
        context: Any = None,
        ray_address: str | None = None,
        ray_remote_args: dict[str, Any] | None = None,
    ) -> None:
        if initializer is not None and not callable(initializer):
            raise TypeError(f"initializer must be a function or None, got {type(initializer).__name__}")
        _check_number("processes", processes, "Processes in the pool must be >0.")
        _check_number("maxtasksperchild", maxtasksperchild, "maxtasksperchild must be a positive int or None")
        if context is not None:
            warnings.warn("the argument 'context' of Pool has no effect: the workers are actors", stacklevel=2)
        cpus = session_cpus(processes, ray_address)
        if processes is None:
            processes = max(1, cpus)
        elif processes > cpus:
            raise ValueError(
                f"a pool of {processes} processes needs as many CPUs, and the cluster has {cpus}: ask for at most "
                f"{cpus} processes, or declare more CPUs with init(num_cpus=…)"
            )
        options = {"num_cpus": 0, "max_restarts": -1, **(ray_remote_args or {})}
        kind = remote(PoolActor).options(**options)
        self._new_actor: Callable[[], Any] = partial(kind.remote, initializer, tuple(initargs or ()))
        self._limit = maxtasksperchild
        self._closed = False
        self._lock = threading.RLock()
        self._turn = 0
        #: The chunks that each actor was given.
        self._counts = [0] * processes
        #: Actors that end after what they were given, each with the reference of its end.
        self._ending: list[tuple[Any, Any]] = []
        self._callbacks = Callbacks()
        self._iterators: weakref.WeakSet[IMapIterator] = weakref.WeakSet()
        self._actors = [self._new_actor() for _ in range(processes)]
        try:
            api.get([actor.__ray_ready__.remote() for actor in self._actors])
        except BaseException:
            self.terminate()
            raise

    def apply(
        self,
        func: Callable[..., T],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        *,
        kwds: dict[str, Any] | None = None,
    ) -> T:
        """Calls ``func(*args, **kwargs)`` in an actor and returns the result.

        ``kwds`` is the standard library's name of ``kwargs``.
        """
        value: T = self.apply_async(func, args, kwargs, kwds=kwds).get()
        return value

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        callback: _Callback = None,
        error_callback: _ErrorCallback = None,
        *,
        kwds: dict[str, Any] | None = None,
    ) -> AsyncResult:
        """Calls ``func(*args, **kwargs)`` in an actor.

        Args:
            func: The function.
            args: Its positional arguments.
            kwargs: Its keyword arguments.
            callback: Is called with the result, on a thread of the pool.
            error_callback: Is called with the exception that the function has raised.
            kwds: The standard library's name of ``kwargs``.
        """
        if kwargs and kwds:
            raise TypeError("give kwargs or kwds, which mean the same, not both")
        self._check_running()
        _check_callable(func)
        ref = self._send("run_call", ship(func), tuple(args or ()), dict(kwargs or kwds or {}))
        return AsyncResult([ref], True, self._callbacks, callback, error_callback)

    def map(self, func: Callable[[Any], T], iterable: Iterable[Any], chunksize: int | None = None) -> list[T]:
        """Calls ``func`` with each item and returns the results in their order.

        Args:
            func: The function.
            iterable: Its arguments, one for each call.
            chunksize: Calls that an actor gets at once; a fourth of each actor's share when None.

        Raises:
            Exception: a call has raised it. All other calls have run, too.
        """
        values: list[T] = self._map("run", func, iterable, chunksize, None, None).get()
        return values

    def map_async(
        self,
        func: Callable[[Any], Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: _Callback = None,
        error_callback: _ErrorCallback = None,
    ) -> AsyncResult:
        """As ``map``, and returns at once.

        Args:
            func: See ``map``.
            iterable: See ``map``.
            chunksize: See ``map``.
            callback: Is called with the list of results when all calls have succeeded, on a thread of the pool.
            error_callback: Is called once, with the first exception that comes.
        """
        return self._map("run", func, iterable, chunksize, callback, error_callback)

    def starmap(
        self, func: Callable[..., T], iterable: Iterable[Iterable[Any]], chunksize: int | None = None
    ) -> list[T]:
        """As ``map`` with several arguments for each call: ``func(*item)``."""
        values: list[T] = self._map("run_star", func, iterable, chunksize, None, None).get()
        return values

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Iterable[Any]],
        callback: _Callback = None,
        error_callback: _ErrorCallback = None,
        chunksize: int | None = None,
    ) -> AsyncResult:
        """As ``map_async`` with several arguments for each call. ``chunksize`` comes last: Ray has no such argument."""
        return self._map("run_star", func, iterable, chunksize, callback, error_callback)

    def imap(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1) -> IMapIterator:
        """Returns an iterator over the results in the order of the arguments.

        Each actor has one chunk at a time, and the next arguments are taken when a result is taken: also arguments
        without end are possible.

        Args:
            func: The function.
            iterable: Its arguments, one for each call.
            chunksize: Calls that an actor gets at once. When None it is 1 for an iterator, else that of ``map``.
        """
        return self._imap(OrderedIMapIterator, func, iterable, chunksize)

    def imap_unordered(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1
    ) -> IMapIterator:
        """As ``imap``, with the results in the order in which they come."""
        return self._imap(UnorderedIMapIterator, func, iterable, chunksize)

    def close(self) -> None:
        """Ends the pool: it takes no more calls, finishes those that it has, and its actors end.

        What iterators of ``imap`` have not sent yet is sent now.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for iterator in list(self._iterators):
            iterator.send_all()
        with self._lock:
            for actor in self._actors:
                self._end(actor)

    def terminate(self) -> None:
        """Ends the pool at once. Results that are not there yet will be an ``ActorDiedError``."""
        with self._lock:
            self._closed = True
            for iterator in list(self._iterators):
                iterator.drop()
            ending = {id(actor) for actor, _ in self._ending}
            for actor in self._actors:
                if id(actor) not in ending:
                    self._end(actor)
            for actor, _ in self._ending:
                api.kill(actor)

    def join(self) -> None:
        """Waits until all actors have ended and all callbacks have run.

        Raises:
            ValueError: neither ``close`` nor ``terminate`` was called before.
        """
        if not self._closed:
            raise ValueError("Pool is still running")
        refs = [ref for _, ref in self._ending]
        if refs:
            api.wait(refs, num_returns=len(refs))
        self._callbacks.join()

    def __enter__(self) -> Pool:
        self._check_running()
        return self

    def __exit__(self, *exc: object) -> None:
        self.terminate()

    def __reduce__(self) -> NoReturn:
        raise NotImplementedError("pool objects cannot be passed between processes or pickled")

    def _check_running(self) -> None:
        if self._closed:
            raise ValueError("Pool not running")

    def _map(
        self,
        method: str,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None,
        callback: _Callback,
        error_callback: _ErrorCallback,
    ) -> AsyncResult:
        self._check_running()
        _check_callable(func)
        _check_number("chunksize", chunksize, f"chunksize must be at least 1, got {chunksize}")
        items: Any = iterable if type(iterable) in (list, tuple, range) else list(iterable)
        refs = []
        if items:
            code = ship(func)
            size = chunksize or self._chunksize(len(items))
            refs = [self._send(method, code, items[at : at + size]) for at in range(0, len(items), size)]
        return AsyncResult(refs, False, self._callbacks, callback, error_callback)

    def _imap(
        self, kind: type[IMapIterator], func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None
    ) -> IMapIterator:
        self._check_running()
        _check_callable(func)
        _check_number("chunksize", chunksize, f"chunksize must be at least 1, got {chunksize}")
        if chunksize is None:
            chunksize = self._chunksize(len(iterable)) if isinstance(iterable, Sized) else 1
        code = ship(func)
        iterator = kind(lambda chunk: self._send("run", code, chunk), iterable, chunksize, len(self._actors))
        with self._lock:
            self._iterators.add(iterator)
        return iterator

    def _chunksize(self, count: int) -> int:
        return max(1, -(-count // (4 * len(self._actors))))

    def _send(self, method: str, code: Code, *args: Any) -> Any:
        """Gives a chunk to the actor whose turn it is; returns the reference to its results."""
        with self._lock:
            turn = self._turn
            self._turn = (turn + 1) % len(self._actors)
            ref = getattr(self._actors[turn], method).remote(code, *args)
            self._counts[turn] += 1
            if self._counts[turn] == self._limit:
                self._end(self._actors[turn])
                self._actors[turn] = self._new_actor()
                self._counts[turn] = 0
            return ref

    def _end(self, actor: Any) -> None:
        """Lets an actor end after what it was given."""
        if self._ending:
            over = set(api.wait([ref for _, ref in self._ending], num_returns=len(self._ending), timeout=0)[0])
            self._ending = [(actor, ref) for actor, ref in self._ending if ref not in over]
        self._ending.append((actor, actor.__ray_terminate__.remote()))


def session_cpus(processes: int | None = None, address: str | None = None) -> int:
    """The CPUs of the cluster; starts or joins a session when there is none.

    Args:
        processes: The CPUs that a session declares which starts for this; detected when None.
        address: The cluster to join, as for ``init``.
    """
    if process.session is None:
        from eagleray._private.session import node

        own = node.resolve(address) is None
        driver.init(address=address, num_cpus=processes if own else None)
    return int(api.cluster_resources().get("CPU", 0))


def _check_callable(func: Any) -> None:
    if not callable(func):
        raise TypeError(f"the first argument must be a function, got {type(func).__name__}: {func!r}")


def _check_number(name: str, value: Any, text: str) -> None:
    if value is None:
        return
    if not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number or None, got {type(value).__name__}: {value!r}")
    if value < 1:
        raise ValueError(text)
