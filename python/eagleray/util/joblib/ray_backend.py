"""The backend: each batch of calls that joblib makes is one call of a pool."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

from joblib.parallel import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend

from eagleray._private.session import api
from eagleray.util.multiprocessing.pool import Pool, session_cpus
from eagleray.util.multiprocessing.results import AsyncResult

#: Arrays from this size on are put into the object store once for all calls of a Parallel that take them; 1 MiB is
#: also where joblib's own processes begin to share an array.
SHARED_BYTES = 1 << 20


class RayBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Runs joblib's batches in actors.

    Args:
        nesting_level: How deep this backend is inside others; joblib sets it.
        inner_max_num_threads: Must be None: the actors' threads are not limited.
        ray_remote_args: Options of the actors, as for ``Pool``.
        **kwargs: Further arguments of joblib's backends.
    """

    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(
        self,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        ray_remote_args: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads, **kwargs)
        self.ray_remote_args = ray_remote_args
        self._pool: Pool | None = None
        #: Arrays in the store by their ``id()``, each with itself, so that the id stays its own.
        self._stored: dict[int, tuple[Any, Stored]] = {}

    def configure(  # pyright: ignore[reportIncompatibleMethodOverride]  # joblib has no types
        self,
        n_jobs: int = 1,
        parallel: Any = None,
        prefer: str | None = None,
        require: str | None = None,
        ray_remote_args: dict[str, Any] | None = None,
        **backend_kwargs: Any,
    ) -> int:
        """Starts the pool and returns the number of its actors.

        Args:
            n_jobs: The number of actors; -1 for the CPUs of the cluster.
            parallel: The ``Parallel`` that asks.
            prefer: Ignored.
            require: Ignored.
            ray_remote_args: Options of the actors, in place of those given before.
            **backend_kwargs: Ignored: settings of joblib's own processes.
        """
        count = self.effective_n_jobs(n_jobs)
        if count == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        options = self.ray_remote_args if ray_remote_args is None else ray_remote_args
        self._pool = Pool(count, ray_remote_args=options)
        return count

    def effective_n_jobs(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, n_jobs: int | None
    ) -> int:
        """The number of actors for ``n_jobs``: -1 is the number of CPUs of the cluster, -2 is one less."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        return n_jobs if n_jobs > 0 else max(1, session_cpus() + 1 + n_jobs)

    def submit(self, func: Any, callback: Callable[[Any], object] | None = None) -> AsyncResult:
        """Sends a batch. The callback gets its results or its exception."""
        assert self._pool is not None
        return self._pool.apply_async(self._share(func), callback=callback, error_callback=callback)

    apply_async = submit  # the name of joblib before 1.5

    def retrieve_result_callback(self, out: Any) -> Any:
        """The results of a batch, from what its callback got."""
        if isinstance(out, BaseException):
            raise out
        return out

    def stop_call(self) -> None:
        """Lets go of the arrays of a Parallel that has ended."""
        self._stored.clear()

    def terminate(self) -> None:
        """Ends the pool."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()
        self._stored.clear()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Ends the calls that run, as one has failed.

        Args:
            ensure_ready: Whether the backend is to take further calls.
        """
        self.terminate()
        if ensure_ready:
            self.configure(self.parallel.n_jobs, self.parallel, **self.parallel._backend_kwargs)

    def _share(self, batch: Any) -> Callable[[], Any]:
        """Puts the large arrays among a batch's arguments into the store."""
        numpy = sys.modules.get("numpy")
        if numpy is None or not hasattr(batch, "items"):
            return batch  # type: ignore[no-any-return]

        def share(value: Any) -> Any:
            if type(value) is not numpy.ndarray or value.nbytes < SHARED_BYTES or value.dtype.hasobject:
                return value
            found = self._stored.get(id(value))
            if found is None:
                found = self._stored[id(value)] = (value, Stored(api.put(value)))
            return found[1]

        items = [
            (func, tuple(map(share, args)), {name: share(value) for name, value in kwargs.items()})
            for func, args, kwargs in batch.items
        ]
        if not self._stored:
            return batch  # type: ignore[no-any-return]
        batch = copy.copy(batch)
        batch.items = items
        return SharingBatch(batch)


class Stored:
    """Stands for an array in the object store."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref


class SharingBatch:
    """A batch whose arrays are in the object store; calls it with the arrays."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def __call__(self) -> Any:
        self.batch.items = [
            (func, tuple(map(_load, args)), {name: _load(value) for name, value in kwargs.items()})
            for func, args, kwargs in self.batch.items
        ]
        return self.batch()


def _load(value: Any) -> Any:
    return api.get(value.ref) if type(value) is Stored else value
