"""How actors end: last handle gone, exit, kill, crash; and how they come back."""

from __future__ import annotations

import os
import signal
from typing import Any

from casebook import attempt, case, eventually


def cell_class(ray: Any) -> Any:
    @ray.remote
    class Cell:
        def read(self) -> str:
            return "alive"

        def pid(self) -> int:
            return os.getpid()

        def crash(self) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        def leave(self) -> None:
            ray.actor.exit_actor()

    return Cell


def process_lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@case
def the_last_handle_goes(ray: Any) -> None:
    cell = cell_class(ray).remote()
    pid = ray.get(cell.pid.remote())
    print("lives:", process_lives(pid))
    del cell
    print("lives after the last handle:", eventually(lambda: process_lives(pid), False))


@case
def pending_calls_finish_first(ray: Any) -> None:
    @ray.remote
    class Slow:
        def work(self, i: int) -> int:
            return i

    actor = Slow.remote()
    refs = [actor.work.remote(i) for i in range(50)]
    del actor
    print(sum(ray.get(refs, timeout=30)))


@case
def a_call_on_a_temporary(ray: Any) -> None:
    Cell = cell_class(ray)
    print(ray.get(Cell.remote().read.remote()), ray.get([Cell.remote().read.remote() for _ in range(2)]))


@case
def a_borrowed_handle_keeps_it(ray: Any) -> None:
    @ray.remote
    class Keeper:
        def __init__(self, cell: Any) -> None:
            self.cell = cell

        def read(self) -> str:
            return ray.get(self.cell.read.remote())

    cell = cell_class(ray).remote()
    keeper = Keeper.remote(cell)
    ray.get(keeper.read.remote())
    del cell
    print(ray.get(keeper.read.remote(), timeout=20))


@case
def kill(ray: Any) -> None:
    cell = cell_class(ray).remote()
    pid = ray.get(cell.pid.remote())
    print(ray.kill(cell))
    print("lives:", eventually(lambda: process_lives(pid), False))
    attempt("call", lambda: ray.get(cell.read.remote(), timeout=20))
    print("again:", ray.kill(cell))


@case
def refused_by_kill(ray: Any) -> None:
    cell = cell_class(ray).remote()
    attempt("reference", lambda: ray.kill(cell.read.remote()))
    attempt("number", lambda: ray.kill(1))
    attempt("class", lambda: ray.kill(cell_class(ray)))
    print(ray.get(cell.read.remote()))


@case
def kill_while_it_works(ray: Any) -> None:
    import time

    @ray.remote
    class Slow:
        def ready(self) -> bool:
            return True

        def work(self) -> None:
            time.sleep(60)

    slow = Slow.remote()
    ray.get(slow.ready.remote())
    refs = [slow.work.remote(), slow.work.remote()]
    ray.kill(slow)
    for ref in refs:
        attempt("call", lambda ref=ref: ray.get(ref, timeout=20))


@case
def exit_actor(ray: Any) -> None:
    cell = cell_class(ray).remote()
    pid = ray.get(cell.pid.remote())
    attempt("leave", lambda: ray.get(cell.leave.remote(), timeout=20))
    attempt("after", lambda: ray.get(cell.read.remote(), timeout=20))
    print("lives:", eventually(lambda: process_lives(pid), False))


@case
def exit_actor_outside(ray: Any) -> None:
    attempt("driver", ray.actor.exit_actor)

    def leave() -> None:
        ray.actor.exit_actor()

    attempt("task", lambda: ray.get(ray.remote(leave).remote(), timeout=20))


@case
def exit_hooks_run(ray: Any) -> None:
    import atexit
    import tempfile

    @ray.remote
    class Tidy:
        def __init__(self, path: str) -> None:
            atexit.register(lambda: open(path, "w").write("tidied"))

        def leave(self) -> None:
            ray.actor.exit_actor()

    def content(path: str) -> str:
        with open(path) as file:
            return file.read()

    with tempfile.NamedTemporaryFile() as file:
        tidy = Tidy.remote(file.name)
        attempt("leave", lambda: ray.get(tidy.leave.remote(), timeout=20))
        print(eventually(lambda: content(file.name), "tidied"))


@case
def terminate(ray: Any) -> None:
    cell = cell_class(ray).remote()
    before = cell.read.remote()
    end = cell.__ray_terminate__.remote()
    print(ray.get(before))
    attempt("terminate", lambda: ray.get(end, timeout=20))
    attempt("after", lambda: ray.get(cell.read.remote(), timeout=20))


@case
def crash(ray: Any) -> None:
    cell = cell_class(ray).remote()
    attempt("crash", lambda: ray.get(cell.crash.remote(), timeout=20))
    attempt("after", lambda: ray.get(cell.read.remote(), timeout=20))


@case
def kinds_of_actor_errors(ray: Any) -> None:
    cell = cell_class(ray).remote()
    pid = ray.get(cell.pid.remote())
    ray.kill(cell)
    eventually(lambda: process_lives(pid), False)
    try:
        ray.get(cell.read.remote(), timeout=20)
    except ray.exceptions.RayActorError as error:
        print(type(error).__name__, isinstance(error, ray.exceptions.RayError))
        print(issubclass(ray.exceptions.ActorDiedError, ray.exceptions.RayActorError))


@case
def restart(ray: Any) -> None:
    @ray.remote(max_restarts=1)
    class Phoenix:
        def __init__(self) -> None:
            self.value = 0

        def add(self) -> int:
            self.value += 1
            return self.value

        def crash(self) -> None:
            os._exit(1)

        def reborn(self) -> bool:
            return ray.get_runtime_context().was_current_actor_reconstructed

    def until_answered(call: Any) -> Any:
        while True:
            try:
                return ray.get(call(), timeout=30)
            except ray.exceptions.ActorUnavailableError:
                continue

    phoenix = Phoenix.remote()
    print(ray.get([phoenix.add.remote(), phoenix.add.remote(), phoenix.reborn.remote()]))
    try:
        ray.get(phoenix.crash.remote(), timeout=20)
    except ray.exceptions.RayActorError:
        print("crashed")
    print("state is new:", until_answered(phoenix.add.remote), until_answered(phoenix.reborn.remote))
    try:
        ray.get(phoenix.crash.remote(), timeout=20)
    except ray.exceptions.RayActorError:
        print("crashed")
    attempt("no more", lambda: ray.get(phoenix.add.remote(), timeout=20))


@case
def retries_of_calls(ray: Any) -> None:
    import pathlib
    import tempfile

    @ray.remote(max_restarts=1, max_task_retries=1)
    class Once:
        def work(self, mark: str) -> str:
            path = pathlib.Path(mark)
            if not path.exists():
                path.touch()
                os._exit(1)
            return "second try"

    with tempfile.TemporaryDirectory() as folder:
        print(ray.get(Once.remote().work.remote(folder + "/mark"), timeout=60))


@case
def kill_without_restart(ray: Any) -> None:
    Cell = cell_class(ray).options(max_restarts=1)
    cell = Cell.remote()
    pid = ray.get(cell.pid.remote())
    ray.kill(cell)
    print("lives:", eventually(lambda: process_lives(pid), False))
    attempt("killed", lambda: ray.get(cell.read.remote(), timeout=20))


@case
def a_failing_constructor(ray: Any) -> None:
    @ray.remote
    class Broken:
        def __init__(self) -> None:
            raise ValueError("no start")

        def read(self) -> int:
            return 1

    broken = Broken.remote()
    print("creation itself returns:", type(broken).__name__)
    try:
        ray.get(broken.read.remote(), timeout=20)
    except ray.exceptions.ActorDiedError as error:
        text = str(error)
        print("the cause is told:", "ValueError" in text and "no start" in text, "__init__" in text)
    attempt("again", lambda: ray.get(broken.read.remote(), timeout=20))


@case
def resources_come_back(ray: Any) -> None:
    Cell = cell_class(ray).options(num_cpus=4)
    for _ in range(3):
        cell = Cell.remote()
        print(ray.get(cell.read.remote(), timeout=30))
        del cell
