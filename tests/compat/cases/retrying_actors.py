"""How often calls of actors run that crash or raise."""

from __future__ import annotations

import os
import signal
from typing import Any

from casebook import case

from cases.retrying import Counts, fail, kill, note, until


def make(ray: Any) -> Any:
    """The class of the actors here."""

    class Worker:
        def run(self, path: str, body: Any) -> Any:
            return body(note(path))

        @ray.method(max_task_retries=1)
        def once_more(self, path: str, body: Any) -> Any:
            return body(note(path))

        @ray.method(max_task_retries=1, retry_exceptions=True)
        def once_more_always(self, path: str, body: Any) -> Any:
            return body(note(path))

        @ray.method(retry_exceptions=[ValueError])
        def listed(self, path: str, body: Any) -> Any:
            return body(note(path))

        @ray.method(retry_exceptions=[KeyError])
        def others_listed(self, path: str, body: Any) -> Any:
            return body(note(path))

        async def waits(self, path: str, body: Any) -> Any:
            return body(note(path))

    return ray.remote(Worker)


@case
def crashes(ray: Any) -> None:
    worker = make(ray)
    counts = Counts(ray)
    kept = []
    for label, options in {
        "neither": {},
        "restarts only": {"max_restarts": 3},
        "retries only": {"max_task_retries": 3},
        "both": {"max_restarts": 3, "max_task_retries": 1},
        "fewer restarts": {"max_restarts": 1, "max_task_retries": 3},
        "without end": {"max_restarts": -1, "max_task_retries": -1},
    }.items():
        actor = worker.options(**options).remote()
        kept.append(actor)
        counts.add(label, lambda path, actor=actor: actor.run.remote(path, until(5, kill)))
    counts.tell()


@case
def crashes_by_method(ray: Any) -> None:
    worker = make(ray)
    counts = Counts(ray)
    first, second, third = (worker.options(max_restarts=5, max_task_retries=2).remote() for _ in range(3))
    counts.add("the method's", lambda path: first.once_more.remote(path, kill))
    counts.add("the call's", lambda path: second.run.options(max_task_retries=0).remote(path, kill))
    counts.add("the actor's", lambda path: third.run.remote(path, kill))
    counts.tell()


@case
def exceptions(ray: Any) -> None:
    worker = make(ray)
    counts = Counts(ray)
    plain, more = worker.remote(), worker.options(max_task_retries=2).remote()
    counts.add("not asked for", lambda path: more.run.remote(path, fail))
    counts.add("the call's", lambda path: more.run.options(retry_exceptions=True).remote(path, fail))
    counts.add("no retries", lambda path: plain.run.options(retry_exceptions=True).remote(path, fail))
    counts.add(
        "retries of the call",
        lambda path: plain.run.options(retry_exceptions=True, max_task_retries=1).remote(path, fail),
    )
    counts.add("the method's", lambda path: plain.once_more_always.remote(path, fail))
    counts.add("its class is listed", lambda path: more.listed.remote(path, fail))
    counts.add("another is listed", lambda path: more.others_listed.remote(path, fail))
    counts.add("listed in the call", lambda path: more.run.options(retry_exceptions=[ValueError]).remote(path, fail))
    counts.add("another in the call", lambda path: more.run.options(retry_exceptions=[KeyError]).remote(path, fail))
    counts.add("a coroutine", lambda path: more.waits.options(retry_exceptions=True).remote(path, fail))
    counts.add("the third works", lambda path: more.listed.remote(path, until(3, fail)))
    counts.tell()


@case
def calls_behind_one_that_is_retried(ray: Any) -> None:
    class Log:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def add(self, text: str, bad: bool = False) -> list[str]:
            self.seen.append(text)
            if bad and self.seen.count(text) < 3:
                raise ValueError(text)
            return self.seen

    log = ray.remote(max_task_retries=3)(Log).remote()
    bad = log.add.options(retry_exceptions=True).remote("a", True)
    ray.get(log.add.remote("b"))
    print(ray.get(bad).count("a"), sorted(set(ray.get(log.add.remote("c")))))


@case
def an_actor_that_kills_itself_after_its_answer(ray: Any) -> None:
    class Once:
        def pid(self) -> int:
            return os.getpid()

    once = ray.remote(max_restarts=1, max_task_retries=1)(Once).remote()
    pid = ray.get(once.pid.remote())
    os.kill(pid, signal.SIGKILL)
    print(ray.get(once.pid.remote(), timeout=60) != pid)
