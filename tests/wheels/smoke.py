"""A program that uses a little of everything. It runs on the installed wheels of one version of Python: see run.py.

    smoke.py [--without-numpy]

Each function called ``check_…`` is one check. The last line says how many passed and failed.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import gc
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import threading
import time
import traceback
import typing
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import eagleray as ray

NUMPY = importlib.util.find_spec("numpy") is not None
BIN = Path(sys.executable).parent


@ray.remote
def add(a: Any, b: Any = 1) -> Any:
    return a + b


@ray.remote
def fail(kind: type[BaseException], *args: Any) -> None:
    raise kind(*args)


@ray.remote
def pause(seconds: float) -> None:
    time.sleep(seconds)


@ray.remote
class Counter:
    """An actor with methods of every kind."""

    step = 1

    def __init__(self, start: int = 0) -> None:
        self.value = start

    def add(self, n: int | None = None) -> int:
        self.value += self.step if n is None else n
        return self.value

    async def wait(self) -> str:
        await asyncio.sleep(0)
        return "waited"

    @staticmethod
    def double(x: int) -> int:
        return 2 * x

    def rows(self, n: int) -> Iterator[int]:
        yield from range(n)

    @ray.method(num_returns=2)
    def pair(self) -> tuple[int, int]:
        return 1, 2


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: float


Pair = namedtuple("Pair", "left right")


class Colour(enum.Enum):
    RED = 1


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, held: T) -> None:
        self.held = held


def check_one_call() -> None:
    assert ray.get(add.remote(1, 2)) == 3


def check_keywords_and_defaults() -> None:
    assert ray.get([add.remote(1), add.remote(a=1, b=5), add.remote("a", b="b")]) == [2, 6, "ab"]


def check_references_as_arguments() -> None:
    assert ray.get(add.remote(add.remote(1), ray.put(5))) == 7


def check_references_inside_arguments() -> None:
    @ray.remote
    def total(refs: list[Any]) -> Any:
        assert all(isinstance(ref, ray.ObjectRef) for ref in refs)
        return sum(ray.get(refs))

    assert ray.get(total.remote([add.remote(i) for i in range(5)])) == 15


def check_many_calls() -> None:
    assert sum(ray.get([add.remote(i) for i in range(2000)])) == sum(range(1, 2001))


def check_nested_calls() -> None:
    @ray.remote
    def fib(n: int) -> int:
        return n if n < 2 else sum(ray.get([fib.remote(n - 1), fib.remote(n - 2)]))

    assert ray.get(fib.remote(6)) == 8


def check_closures_and_lambdas() -> None:
    factor = 7
    assert ray.get(ray.remote(lambda x: x * factor).remote(6)) == 42


def check_partial() -> None:
    subtract = functools.partial(lambda a, b: a - b, 10)
    assert ray.get(ray.remote(lambda f, x: f(x)).remote(subtract, 4)) == 6


def check_several_results() -> None:
    a, b = ray.remote(lambda: (1, 2)).options(num_returns=2).remote()
    assert ray.get([a, b]) == [1, 2]


def check_wait() -> None:
    refs = [add.remote(i) for i in range(10)]
    ready, rest = ray.wait(refs, num_returns=10, timeout=60)
    assert ready == refs and rest == []


def check_timeout() -> None:
    slow = pause.remote(600)
    try:
        ray.get(slow, timeout=0.05)
    except ray.exceptions.GetTimeoutError as error:
        assert isinstance(error, TimeoutError)
    else:
        raise AssertionError("no timeout")
    ray.cancel(slow, force=True)


def check_cancel() -> None:
    ref = pause.remote(600)
    ray.cancel(ref, force=True)
    try:
        ray.get(ref, timeout=60)
    except (ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError):
        return
    raise AssertionError("not cancelled")


def check_error_is_of_both_classes() -> None:
    try:
        ray.get(fail.remote(KeyError, "k"))
    except KeyError as error:
        assert isinstance(error, ray.exceptions.RayTaskError) and "in fail" in str(error)
        assert isinstance(error.cause, KeyError) and error.cause.args == ("k",)
    else:
        raise AssertionError("no error")


def check_error_with_notes_and_causes() -> None:
    def inner() -> None:
        try:
            raise ValueError("first")
        except ValueError as error:
            raise RuntimeError("second") from error

    try:
        ray.get(ray.remote(inner).remote())
    except RuntimeError as error:
        assert "first" in str(error) and "second" in str(error)
    else:
        raise AssertionError("no error")


def check_exception_group() -> None:
    if sys.version_info < (3, 11):
        return
    kind: Any = __builtins__.ExceptionGroup  # type: ignore[attr-defined]
    try:
        ray.get(fail.remote(kind, "both", [ValueError(1), KeyError(2)]))
    except ray.exceptions.RayTaskError as error:
        assert isinstance(error.cause, kind) and len(error.cause.exceptions) == 2
    else:
        raise AssertionError("no error")


def check_retries() -> None:
    counter = Counter.remote()

    @ray.remote(max_retries=3, retry_exceptions=[OSError])
    def sometimes() -> int:
        tries = ray.get(counter.add.remote())
        if tries < 3:
            raise OSError(tries)
        return int(tries)

    assert ray.get(sometimes.remote()) == 3


def check_a_worker_that_dies() -> None:
    try:
        ray.get(ray.remote(max_retries=0)(lambda: os._exit(7)).remote())
    except ray.exceptions.WorkerCrashedError as error:
        assert "7" in str(error)
    else:
        raise AssertionError("no error")


def check_infeasible() -> None:
    try:
        ray.get(add.options(num_gpus=1000).remote(1), timeout=60)
    except ray.exceptions.TaskUnschedulableError as error:
        assert "1000" in str(error)
    else:
        raise AssertionError("no error")


def check_actor() -> None:
    counter = Counter.remote(10)
    assert ray.get([counter.add.remote() for _ in range(3)]) == [11, 12, 13]
    assert ray.get(counter.double.remote(4)) == 8 and ray.get(counter.wait.remote()) == "waited"
    one, two = counter.pair.remote()
    assert ray.get([one, two]) == [1, 2]


def check_actor_inheritance() -> None:
    class Base:
        def who(self) -> str:
            return type(self).__name__

    class Child(Base):
        def who(self) -> str:
            return "child of " + super().who()

    assert ray.get(ray.remote(Child).remote().who.remote()) == "child of Child"


def check_named_actor() -> None:
    kept = Counter.options(name="smoke", lifetime="detached").remote(5)
    assert ray.get(ray.get_actor("smoke").add.remote()) == 6
    ray.kill(kept)


def check_async_actor() -> None:
    @ray.remote
    class Meeting:
        def __init__(self) -> None:
            self.event = asyncio.Event()

        async def wait(self) -> int:
            await self.event.wait()
            return 1

        async def open(self) -> None:
            self.event.set()

    meeting = Meeting.remote()
    waiting = [meeting.wait.remote() for _ in range(5)]
    ray.get(meeting.open.remote())
    assert sum(ray.get(waiting, timeout=60)) == 5


def check_threaded_actor() -> None:
    @ray.remote(max_concurrency=3)
    class Barrier:
        def __init__(self) -> None:
            self.barrier = threading.Barrier(3)

        def wait(self) -> int:
            return self.barrier.wait(60)

    barrier = Barrier.remote()
    assert sorted(ray.get([barrier.wait.remote() for _ in range(3)])) == [0, 1, 2]


def check_concurrency_groups() -> None:
    @ray.remote(concurrency_groups={"io": 2})
    class Grouped:
        @ray.method(concurrency_group="io")
        async def name(self) -> str:
            return "io"

    assert ray.get(Grouped.remote().name.remote()) == "io"


def check_actor_restart() -> None:
    @ray.remote(max_restarts=1, max_task_retries=1)
    class Mortal:
        def pid(self) -> int:
            return os.getpid()

        def die(self) -> None:
            os._exit(1)

    mortal = Mortal.options(max_task_retries=0).remote()
    first = ray.get(mortal.pid.remote())
    try:
        ray.get(mortal.die.remote())
    except ray.exceptions.RayActorError:
        pass
    deadline = time.monotonic() + 60
    while True:
        try:
            assert ray.get(mortal.pid.remote()) != first
            return
        except ray.exceptions.RayActorError:
            assert time.monotonic() < deadline


def check_kill() -> None:
    counter = Counter.remote()
    ray.get(counter.add.remote())
    ray.kill(counter)
    try:
        ray.get(counter.add.remote(), timeout=60)
    except ray.exceptions.RayActorError:
        return
    raise AssertionError("alive")


def check_generator() -> None:
    @ray.remote
    def rows(n: int) -> Iterator[int]:
        yield from range(n)

    assert [ray.get(ref) for ref in rows.remote(5)] == [0, 1, 2, 3, 4]
    assert [ray.get(ref) for ref in Counter.remote().rows.options(num_returns="streaming").remote(3)] == [0, 1, 2]


def check_async_generator() -> None:
    @ray.remote
    class Source:
        async def rows(self) -> Any:
            for i in range(3):
                await asyncio.sleep(0)
                yield i

    async def read() -> list[Any]:
        return [await ref async for ref in Source.remote().rows.options(num_returns="streaming").remote()]

    assert asyncio.run(read()) == [0, 1, 2]


def check_await_and_gather() -> None:
    async def both() -> Any:
        return await add.remote(1), await asyncio.gather(add.remote(2), Counter.remote().wait.remote())

    assert asyncio.run(both()) == (2, [3, "waited"])


def check_task_group() -> None:
    if sys.version_info < (3, 11):
        return

    async def read() -> int:
        async def one(i: int) -> int:
            return int(await add.remote(i))

        async with asyncio.TaskGroup() as group:  # type: ignore[attr-defined, unused-ignore]
            tasks = [group.create_task(one(i)) for i in range(5)]
        return sum(task.result() for task in tasks)

    assert asyncio.run(read()) == 15


def check_asyncio_timeout() -> None:
    async def read() -> str:
        slow = pause.remote(600)
        try:
            await asyncio.wait_for(slow, 0.05)
        except asyncio.TimeoutError:
            ray.cancel(slow, force=True)
            return "timed out"
        return "no"

    assert asyncio.run(read()) == "timed out"


def check_futures() -> None:
    assert add.remote(1).future().result(60) == 2


def check_threads_of_the_driver() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda i: ray.get(add.remote(i)), range(40))) == list(range(1, 41))


def check_plain_values() -> None:
    for value in (None, True, -(2**63), 2**70, 1.5, "ü\ud800", b"\0" * 10, [1, [2]], {"a": {1: None}}, (1, 2), {1, 2}):
        assert ray.get(ray.put(value)) == value


def check_classes_of_the_program() -> None:
    values = [Point(1, 2.5), Pair(1, 2), Colour.RED]
    assert ray.get(ray.remote(lambda v: v).remote(values)) == values
    assert ray.get(ray.put(Box[int](3))).held == 3


def check_values_that_cannot_be_pickled() -> None:
    try:
        ray.put(threading.Lock())
    except TypeError as error:
        assert "lock" in str(error)
    else:
        raise AssertionError("no error")


def check_deep_values() -> None:
    value: Any = []
    for _ in range(200):
        value = [value]
    found = ray.get(ray.put(value))
    depth = 0
    while found:
        found, depth = found[0], depth + 1
    assert depth == 200


def check_large_bytes() -> None:
    data = os.urandom(1 << 22)
    assert ray.get(ray.put(data)) == data and ray.get(ray.remote(lambda d: len(d)).remote(data)) == 1 << 22


def check_signatures() -> None:
    try:
        add.remote()
    except TypeError as error:
        assert "'a'" in str(error)
    else:
        raise AssertionError("no error")


def check_call_of_a_remote_function() -> None:
    try:
        add(1)
    except TypeError as error:
        assert ".remote" in str(error)
    else:
        raise AssertionError("no error")


def check_runtime_context() -> None:
    @ray.remote
    def ids() -> tuple[str, str | None, str]:
        context = ray.get_runtime_context()
        return context.get_job_id(), context.get_task_id(), context.get_worker_id()

    job, task, worker = ray.get(ids.remote())
    assert job == ray.get_runtime_context().get_job_id() and task and worker


def check_resources() -> None:
    assert ray.cluster_resources()["CPU"] == 3 and ray.cluster_resources()["slot"] == 2
    assert ray.get(add.options(resources={"slot": 0.5}, num_cpus=0.5).remote(1)) == 2


def check_devices() -> None:
    @ray.remote(num_gpus=0.5)
    def where() -> tuple[list[int], str]:
        return ray.get_gpu_ids(), os.environ["CUDA_VISIBLE_DEVICES"]

    assert ray.get(where.remote()) in (([0], "0"), ([1], "1"))


def check_nodes() -> None:
    (node,) = ray.nodes()
    assert node["Alive"] and node["Resources"]["CPU"] == 3


def check_environment_variables() -> None:
    read = add.options(runtime_env={"env_vars": {"SMOKE": "yes"}})
    assert read is not None
    get = ray.remote(runtime_env={"env_vars": {"SMOKE": "yes"}})(lambda: os.environ.get("SMOKE"))
    assert ray.get(get.remote()) == "yes"


def check_working_dir(folder: Path) -> None:
    (folder / "helper_of_smoke.py").write_text("ANSWER = 42\n")

    @ray.remote(runtime_env={"working_dir": str(folder)})
    def answer() -> int:
        import helper_of_smoke  # type: ignore[import-not-found]

        return int(helper_of_smoke.ANSWER)

    assert ray.get(answer.remote(), timeout=120) == 42


def check_placement_group() -> None:
    from eagleray.util.placement_group import placement_group, remove_placement_group
    from eagleray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    group = placement_group([{"CPU": 1}, {"CPU": 1}], strategy="PACK")
    assert ray.get(group.ready(), timeout=60)
    here = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=1)
    assert ray.get(add.options(scheduling_strategy=here).remote(1)) == 2
    remove_placement_group(group)


def check_actor_pool() -> None:
    from eagleray.util import ActorPool

    pool = ActorPool([Counter.remote(), Counter.remote()])
    assert list(pool.map(lambda actor, n: actor.double.remote(n), [1, 2, 3])) == [2, 4, 6]


def check_queue() -> None:
    from eagleray.util.queue import Empty, Queue

    queue = Queue(maxsize=2)
    queue.put(1)
    assert queue.get() == 1
    try:
        queue.get(block=False)
    except Empty:
        return
    raise AssertionError("not empty")


def check_multiprocessing_pool() -> None:
    from eagleray.util.multiprocessing import Pool

    with Pool(2) as pool:
        assert pool.map(lambda x: x * x, range(20)) == [x * x for x in range(20)]
        assert pool.apply_async(pow, (2, 5)).get(60) == 32


def check_state() -> None:
    from eagleray.util.state import list_actors, list_nodes

    keep = Counter.options(name="seen").remote()
    ray.get(keep.add.remote())
    assert "seen" in [actor.name for actor in list_actors()] and len(list_nodes()) == 1


def check_metrics() -> None:
    from eagleray.util.metrics import Counter as Metric

    Metric("smoke_total", description="calls", tag_keys=("kind",)).inc(2, {"kind": "a"})


def check_inspect_serializability() -> None:
    from eagleray.util import inspect_serializability

    class Quiet:
        def write(self, text: str) -> int:
            return len(text)

        def flush(self) -> None: ...

    lock = threading.Lock()
    fine, failures = inspect_serializability(lambda: lock, print_file=Quiet())
    assert not fine and len(failures) == 1


def check_timeline_needs_a_record() -> None:
    try:
        ray.timeline()
    except Exception as error:
        assert "EAGLERAY_TRACE" in str(error)


def check_references_are_let_go() -> None:
    class Seen:
        pass

    local = ray.put(Seen())
    text = local.hex()
    del local
    gc.collect()
    assert len(text) == 56


def check_comparisons_of_references() -> None:
    ref = add.remote(1)
    assert ref == ref and ref != add.remote(1) and len({ref, ref}) == 1
    assert ray.ObjectRef.from_hex(ref.hex()).hex() == ref.hex()


def check_log_of_workers() -> None:
    program = (
        "import eagleray as ray\n"
        "ray.init(num_cpus=1)\n"
        "ray.get(ray.remote(lambda: print('printed by a worker', flush=True)).remote())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "printed by a worker" in done.stdout + done.stderr, done.stderr


def check_program_of_standard_input() -> None:
    program = b"import eagleray as ray\nprint(ray.get(ray.remote(lambda: 41 + 1).remote()))\n"
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, timeout=120)
    assert done.stdout == b"42\n", done.stderr


def check_warnings_are_not_raised() -> None:
    program = (
        "import eagleray as ray, asyncio\nray.init(num_cpus=1)\n"
        "@ray.remote\nclass A:\n    async def f(self): return 1\n"
        "async def main(): return await A.remote().f.remote()\nassert asyncio.run(main()) == 1\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr


def check_annotations_of_this_version() -> None:
    lines = "type Number = int | float\ndef first[V](values: list[V]) -> V: return values[0]\n"
    if sys.version_info >= (3, 12):
        scope: dict[str, Any] = {}
        exec(lines, scope)
        assert ray.get(ray.remote(scope["first"]).remote([3])) == 3


def check_command_version() -> None:
    done = subprocess.run([BIN / "eagleray", "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and ray.__version__ in done.stdout, done.stdout + done.stderr


def check_command_status() -> None:
    done = subprocess.run([BIN / "eagleray", "status", "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "status" in done.stdout + done.stderr


def check_command_run(folder: Path) -> None:
    program = folder / "program.py"
    program.write_text("import ray\nprint(ray.__version__, ray.get(ray.remote(lambda: ray.__version__).remote()))\n")
    done = subprocess.run([BIN / "eagleray", "run", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "2.60.0 2.60.0\n", done.stderr


def check_ray_compat() -> None:
    program = (
        "import ray, ray.exceptions, importlib.metadata, eagleray\n"
        "assert ray.exceptions is eagleray.exceptions and importlib.metadata.version('ray') == ray.__version__\n"
        "@ray.remote\ndef f():\n    import ray.util\n    return ray.__version__\n"
        "print(ray.get(f.remote()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "2.60.0\n", done.stderr
    done = subprocess.run([BIN / "ray", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("ray, version 2.60.0"), done.stdout + done.stderr


def check_metadata() -> None:
    assert importlib.metadata.version("eagleray") == ray.__version__
    assert "eagleray" in {entry.name for entry in importlib.metadata.entry_points(group="console_scripts")}


def check_installed_files_are_all_recorded() -> None:
    files = importlib.metadata.files("eagleray") or []
    assert any(str(file).endswith("_bin/eagleray") for file in files) and any("_core" in str(file) for file in files)


def check_types_are_marked() -> None:
    assert (Path(ray.__file__).parent / "py.typed").exists()


def numpy_arrays_share_memory() -> None:
    import numpy

    array = numpy.arange(1 << 20, dtype=numpy.float32)
    ref = ray.put(array)
    one, two = ray.get(ref), ray.get(ref)
    assert (one == array).all() and not one.flags.writeable
    assert numpy.shares_memory(one, two) and not numpy.shares_memory(one, array)
    assert ray.get(ray.remote(lambda a: float(a.sum(dtype="f8"))).remote(ref)) == float(array.sum(dtype="f8"))


def numpy_forms() -> None:
    import numpy

    arrays = [numpy.zeros((0, 3)), numpy.array(5), numpy.arange(6).reshape(2, 3).T, numpy.array(["a", "bc"]),
              numpy.array(["2020-01-01"], dtype="M8[D]"), numpy.array([{1: 2}], dtype=object)]  # fmt: skip
    for array in arrays:
        found = ray.get(ray.put(array))
        assert found.dtype == array.dtype and found.shape == array.shape and (found == array).all()


def numpy_scalars_and_structures() -> None:
    import numpy

    rows = numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    assert ray.get(ray.put(numpy.float32(2.5))) == 2.5 and (ray.get(ray.put(rows)) == rows).all()


def numpy_results_of_tasks() -> None:
    import numpy

    make = ray.remote(lambda n: numpy.full(n, 7, dtype="u1"))
    assert all(int(ray.get(make.remote(n)).sum()) == 7 * n for n in (1, 1000, 1 << 20))


def numpy_kernels() -> None:
    import numpy
    from eagleray import kernels

    array = kernels.array(numpy.arange(4, dtype=numpy.float32))
    kernels.fuse().scale(2).add(1)(array, out=array)
    assert array.numpy().tolist() == [1, 3, 5, 7]


def numpy_is_named_where_it_is_missing() -> None:
    for program in ("from eagleray import kernels; kernels.array([1.0])", "from eagleray.util import collective"):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        last = done.stderr.strip().splitlines()[-1:] or [""]
        assert done.returncode == 0 or "numpy" in last[0], done.stderr
    done = subprocess.run(
        [sys.executable, "-c", "from eagleray import kernels; kernels.array([1.0])"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "pip install" in done.stderr, done.stderr


def checks(folder: Path) -> dict[str, Callable[[], None]]:
    """The checks that this environment allows, by name."""
    prefixes = ("check_", "numpy_")
    found = {name: value for name, value in globals().items() if name.startswith(prefixes) and callable(value)}
    for name in list(found):
        if name.startswith("numpy_") and NUMPY == (name == "numpy_is_named_where_it_is_missing"):
            del found[name]
    needs_folder = (check_working_dir, check_command_run)
    return {name: functools.partial(one, folder) if one in needs_folder else one for name, one in found.items()}


def main(folder: Path) -> int:
    warnings.simplefilter("error")
    if ("--without-numpy" in sys.argv) == NUMPY:
        sys.exit(f"numpy is {'' if NUMPY else 'not '}installed here")
    failed = []
    with ray.init(num_cpus=3, num_gpus=2, resources={"slot": 2}, log_to_driver=False):
        chosen = checks(folder)
        for name, check in chosen.items():
            try:
                check()
            except BaseException:
                failed.append(name)
                print(f"{name}:\n{traceback.format_exc()}", flush=True)
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory(prefix="er") as made:
        code = main(Path(made))
    sys.exit(code)
