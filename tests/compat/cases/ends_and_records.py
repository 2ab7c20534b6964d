"""What programs match of messages, counts of references, and ends of actors that only a look from outside shows."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

from casebook import case, own_session

LIMIT = 60.0


def until(done: Callable[[], Any]) -> Any:
    """Returns what a function returns as soon as that is true."""
    end = time.monotonic() + LIMIT
    while not (found := done()):
        if time.monotonic() > end:
            raise TimeoutError("it has not happened in time")
        time.sleep(0.1)
    return found


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def message(action: Callable[[], Any]) -> str:
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__} {error}"
    return "nothing raised"


@case
def wrong_types_of_options(ray: Any) -> None:
    def f() -> None: ...

    class A: ...

    for keyword, target in (("max_retries", f), ("max_restarts", A), ("max_task_retries", A), ("num_returns", f)):
        said = message(lambda keyword=keyword, target=target: ray.remote(**{keyword: 0.5})(target))
        print(keyword, said.split(":")[0].split(", got")[0])


@case
def wrong_numbers_in_options(ray: Any) -> None:
    def f() -> None: ...

    class A: ...

    parts = ("only accepts None, 0, -1 or a positive integer, where -1 represents infinity.", "0 or a positive integer")
    for keyword, target in (("max_retries", f), ("max_restarts", A), ("max_task_retries", A), ("max_calls", f)):
        said = message(lambda keyword=keyword, target=target: ray.remote(**{keyword: -5})(target))
        print(keyword, said.split()[0], [part in said for part in parts])
    said = message(lambda: ray.remote(num_returns=-1)(f))
    print("num_returns", said.split()[0], "only accepts None, a non-negative integer, " in said)


@case
def amounts_that_are_too_fine(ray: Any) -> None:
    def f() -> None: ...

    for given in ({"num_gpus": 1e-7}, {"num_cpus": 1e-7}, {"resources": {"fuel": 1e-7}}):
        name = next(iter(given.get("resources", given)))
        said = message(lambda given=given: ray.remote(**given)(f))
        print(
            said.split()[0], f"precision of the fractional quantity of resource {name} cannot go beyond 0.0001" in said
        )


@case
def exit_actor_outside_of_actors(ray: Any) -> None:
    exit_actor = importlib.import_module(f"{ray.__name__}.actor").exit_actor

    @ray.remote
    def task() -> None:
        exit_actor()

    for action in (exit_actor, lambda: ray.get(task.remote())):
        said = message(action)
        print("TypeError" in said, "exit_actor API is called on a non-actor worker" in said)


def leaver(ray: Any) -> Any:
    exit_actor = importlib.import_module(f"{ray.__name__}.actor").exit_actor

    @ray.remote(num_cpus=0)
    class Leaver:
        def __init__(self, at_once: bool) -> None:
            if at_once:
                self.task = asyncio.create_task(self.leave())

        async def pid(self) -> int:
            return os.getpid()

        async def later(self) -> str:
            self.task = asyncio.create_task(self.leave())
            return "begun"

        async def leave(self) -> None:
            await asyncio.sleep(0.2)
            exit_actor()

    return Leaver


@case
def exit_actor_in_a_coroutine_of_its_own(ray: Any) -> None:
    actor = leaver(ray).remote(False)
    pid = ray.get(actor.pid.remote())
    print(ray.get(actor.later.remote()))
    print(until(lambda: not alive(pid)))
    try:
        ray.get(actor.pid.remote(), timeout=LIMIT)
    except ray.exceptions.RayActorError:
        print("ended")


@case
def exit_actor_in_a_coroutine_that_the_constructor_begins(ray: Any) -> None:
    actor = leaver(ray).remote(True)

    def ended() -> bool:
        try:
            ray.get(actor.pid.remote(), timeout=LIMIT)
        except ray.exceptions.RayActorError:
            return True
        return False

    print(until(ended))


@case
def counts_of_references(ray: Any) -> None:
    worker = importlib.import_module(f"{ray.__name__}._private.worker").global_worker.core_worker

    def counts(*wanted: tuple[int, int]) -> None:
        def look() -> bool:
            gc.collect()
            found = worker.get_all_reference_counts().values()
            return sorted((one["local"], one["submitted"]) for one in found) == sorted(wanted)

        print(wanted, until(look))

    @ray.remote(num_cpus=0)
    class Gate:
        def __init__(self) -> None:
            self.event = asyncio.Event()

        async def wait(self) -> None:
            await self.event.wait()

        async def open(self) -> None:
            self.event.set()

    @ray.remote
    def passes(value: bytes, gate: Any) -> None:
        ray.get(gate.wait.remote())

    counts()
    first = ray.put("hello")
    counts((1, 0))
    del first
    counts()
    gate = Gate.remote()
    large = ray.put(bytes(1 << 20))
    print(worker.object_exists(large))
    result = passes.remote(large, gate)
    counts((1, 1), (1, 0))
    opened = gate.open.remote()
    ray.get([opened, result])
    del opened
    counts((1, 0), (1, 0))
    del large, result
    counts()


@case
def methods_that_a_handle_lists(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class A:
        def one(self) -> None: ...

    print(sorted({"__init__", "one", "__ray_terminate__"} & set(dir(A.remote()))))


@own_session
def no_session_begins_by_itself_when_that_is_forbidden(ray: Any) -> None:
    hook = importlib.import_module(f"{ray.__name__}._private.auto_init_hook")
    before, hook.enable_auto_connect = hook.enable_auto_connect, False
    try:

        @ray.remote
        class A: ...

        for action in (lambda: ray.put(1), A.remote):
            print(message(action).split()[0], ray.is_initialized())
    finally:
        hook.enable_auto_connect = before


@own_session
def an_own_dashboard(ray: Any) -> None:
    for url in ("https://board.example/path?x=1", "board.example"):
        os.environ["RAY_OVERRIDE_DASHBOARD_URL"] = url
        try:
            found = ray.init(num_cpus=1)
            print(found.dashboard_url, found.address_info["webui_url"])
        finally:
            del os.environ["RAY_OVERRIDE_DASHBOARD_URL"]
            ray.shutdown()


@case
def enumerations_of_states(ray: Any) -> None:
    generated = importlib.import_module(f"{ray.__name__}.core.generated.common_pb2")
    gcs = importlib.import_module(f"{ray.__name__}._private.gcs_utils")
    table = gcs.ActorTableData
    print([table.ALIVE, table.DEAD, table.RESTARTING, table.PENDING_CREATION, table.DEPENDENCIES_UNREADY])
    for name in ("TaskType", "TaskStatus", "ErrorType", "WorkerExitType", "WorkerType", "Language"):
        print(name, getattr(generated, name).items())
    print(generated.TaskStatus.Name(11), generated.ErrorType.Value("OUT_OF_MEMORY"), generated.NODE_DIED)


@case
def texts_that_name_a_part_of_a_file(ray: Any) -> None:
    storage = importlib.import_module(f"{ray.__name__}._private.external_storage")
    text = storage.create_url_with_offset(url="/tmp/a/file-1", offset=10, size=5)
    found = storage.parse_url_with_offset(text)
    print(text, found.base_url, found.offset, found.size)
    print(message(lambda: storage.parse_url_with_offset("/tmp/file")).split()[0])


@case
def options_with_their_checks(ray: Any) -> None:
    table = importlib.import_module(f"{ray.__name__}._common.ray_option_utils")
    for name in ("max_retries", "max_calls", "num_cpus", "num_returns", "retry_exceptions"):
        print(name, table.task_options[name].default_value)
    for name in ("max_restarts", "max_pending_calls", "get_if_exists", "lifetime"):
        print(name, table.actor_options[name].default_value)
    for options in (table.task_options, table.actor_options):
        for name, option in options.items():
            option.validate(name, option.default_value)
    print(message(lambda: table.task_options["max_retries"].validate("max_retries", "x")).split()[0])
    print(table.update_options({"a": 1, "b": 2}, {"b": 3, "c": 4}))
