"""Workers that die: killed, exiting, and how often their work is tried again."""

from __future__ import annotations

import os
import pathlib
import signal
import tempfile
from typing import Any

from casebook import attempt, case


@case
def killed_without_retries(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    try:
        ray.get(die.remote(), timeout=30)
    except ray.exceptions.WorkerCrashedError as error:
        print(type(error).__name__, isinstance(error, ray.exceptions.RayError))
        print(isinstance(error, ray.exceptions.RayTaskError))


@case
def killed_after_retries(ray: Any) -> None:
    @ray.remote(max_retries=2)
    def die(folder: str) -> None:
        pathlib.Path(folder, str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    with tempfile.TemporaryDirectory() as folder:
        attempt("die", lambda: ray.get(die.remote(folder), timeout=60))
        print("tries:", len(os.listdir(folder)))


@case
def survives_by_a_retry(ray: Any) -> None:
    @ray.remote(max_retries=1)
    def once(mark: str) -> str:
        path = pathlib.Path(mark)
        if not path.exists():
            path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "second try"

    with tempfile.TemporaryDirectory() as folder:
        print(ray.get(once.remote(folder + "/mark"), timeout=60))


@case
def exits(ray: Any) -> None:
    def leave(code: int) -> None:
        os._exit(code)

    for code in (0, 1):
        attempt(str(code), lambda code=code: ray.get(ray.remote(max_retries=0)(leave).remote(code), timeout=30))


@case
def segmentation_fault(ray: Any) -> None:
    def fault() -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    attempt("fault", lambda: ray.get(ray.remote(max_retries=0)(fault).remote(), timeout=30))


@case
def the_session_goes_on(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def work(i: int) -> int:
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    def result(i: int) -> str:
        try:
            return str(ray.get(work.remote(i), timeout=30))
        except ray.exceptions.WorkerCrashedError:
            return "crashed"

    print([result(i) for i in range(6)])


@case
def dependants_of_a_crash(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def die() -> int:
        os._exit(1)

    attempt("dependant", lambda: ray.get(ray.remote(lambda x: x).remote(die.remote()), timeout=30))


@case
def several_results_of_a_crash(ray: Any) -> None:
    @ray.remote(max_retries=0, num_returns=2)
    def die() -> Any:
        os._exit(1)

    for ref in die.remote():
        attempt("part", lambda ref=ref: ray.get(ref, timeout=30))


@case
def a_crash_in_an_inner_task(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def die() -> None:
        os._exit(1)

    @ray.remote(max_retries=0)
    def outer() -> str:
        try:
            ray.get(die.remote())
        except ray.exceptions.WorkerCrashedError:
            return "caught"
        return "nothing"

    print(ray.get(outer.remote(), timeout=60))


@case
def actor_killed_by_a_signal(ray: Any) -> None:
    @ray.remote
    class Victim:
        def pid(self) -> int:
            return os.getpid()

    victim = Victim.remote()
    os.kill(ray.get(victim.pid.remote()), signal.SIGKILL)
    attempt("call", lambda: ray.get(victim.pid.remote(), timeout=20))


@case
def a_constructor_that_dies(ray: Any) -> None:
    @ray.remote
    class Dies:
        def __init__(self) -> None:
            os._exit(1)

        def read(self) -> int:
            return 1

    attempt("call", lambda: ray.get(Dies.remote().read.remote(), timeout=30))
