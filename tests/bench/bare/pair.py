"""Two Python processes with a socket between them and `talk.c` at both ends.

pair.py FD serve    answers frames with themselves, in C
pair.py FD call     answers pickled calls as a worker would: read, unpickle, call, pickle, answer
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from types import TracebackType
from typing import Any


class Pair:
    """This process and another one that answers it."""

    def __init__(self, role: str) -> None:
        from bare import extension

        self.talk: Any = extension("talk")
        self._mine, its = socket.socketpair()
        with its:
            here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            self._other = subprocess.Popen(
                [sys.executable, "-m", "bare.pair", str(its.fileno()), role], pass_fds=(its.fileno(),), cwd=here
            )
        self.talk.connect(self._mine.fileno())

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._mine.close()
        self._other.wait(10)

    def roundtrips_between(self, count: int, here: int, there: int) -> float:
        """Seconds for `count` blocking round trips while this thread runs on one core and the other process on another.

        The other process has to be one that serves. Which core each end is on decides what a round trip costs: one
        that is idle has to be woken first, which takes 10 us on some machines and 100 on others.
        """
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(self._other.pid, {there})
        os.sched_setaffinity(0, {here})  # of this thread alone
        try:
            return float(self.talk.roundtrips(count))
        finally:
            os.sched_setaffinity(0, before)
            os.sched_setaffinity(self._other.pid, before)

    def call(self, count: int) -> list[Any]:
        """The results of `count` calls at once of a function that does nothing."""
        post, wait = self.talk.post, self.talk.wait
        dumps, loads = pickle.dumps, pickle.loads
        for _ in range(count):
            post(dumps((b"nothing", (), {}), 5))
        return [loads(wait()) for _ in range(count)]


def nothing() -> None:
    return None


def work(talk: Any) -> None:
    """The loop of a worker that knows one function."""
    functions = {b"nothing": nothing}
    next_call, answer = talk.next, talk.answer
    dumps, loads = pickle.dumps, pickle.loads
    while (found := next_call()) is not None:
        number, payload = found
        name, args, kwargs = loads(payload)
        answer(number, dumps(functions[name](*args, **kwargs), 5))


def main() -> None:
    from bare import extension

    talk = extension("talk")
    talk.connect(int(sys.argv[1]))
    if sys.argv[2] == "serve":
        talk.serve()
    else:
        work(talk)


if __name__ == "__main__":
    main()
