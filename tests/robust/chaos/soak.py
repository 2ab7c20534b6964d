"""Mixed load for a long time: driver, daemon, zygote and workers end as large as they were after minutes.

``python -m chaos.soak --minutes 30`` in ``tests/robust``. Measured are processes that live the whole run (the driver,
the daemon, the zygote of the default environment, two actors, and a task worker whose one task works until the end),
and the crowd of the other workers, which tasks that die, cancellations, idleness and new environments replace all the
time. How they are compared stands in ``chaos.sizes``.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eagleray as ray
import numpy as np
from processes import name, until

from chaos import LIMIT
from chaos.killer import children
from chaos.sampler import Sampler
from chaos.sizes import HEAD, PART, Series

LARGE = 50_000
#: Its workers do not run the tasks that die.
STEADY = {"env_vars": {"SOAK": "steady"}}


@ray.remote(max_retries=-1)
def plus(x: Any, y: int) -> Any:
    return x + y


@ray.remote(max_retries=-1)
def nest(depth: int) -> Any:
    return [ray.put(np.ones(LARGE)), *([nest.remote(depth - 1)] if depth else [])]


@ray.remote(max_retries=0)
def fails() -> None:
    raise ValueError("as it should")


@ray.remote(max_retries=0)
def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@ray.remote(max_retries=0)
def sleeps() -> None:
    time.sleep(60)


@ray.remote(num_cpus=0, max_retries=0)
def resident(box: list[Any]) -> int:
    """A task worker that lives the whole run, with tasks and objects of its own all the time."""
    (keeper,) = box
    ray.get(keeper.begin.remote(os.getpid()), timeout=LIMIT)
    rounds = 0
    while not ray.get(keeper.over.remote(), timeout=LIMIT):
        refs = [plus.options(runtime_env=STEADY).remote(np.ones(LARGE), i) for i in range(3)]
        assert sum(float(ray.get(ref, timeout=LIMIT)[0]) for ref in refs) == 6
        assert ray.get(keeper.keep.remote([ray.put(np.ones(LARGE))]), timeout=LIMIT) == LARGE
        rounds += 1
        time.sleep(0.5)  # there are two processors, and others want them
    return rounds


@ray.remote(num_cpus=0)
class Keeper:
    """Lives for the whole run."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.resident = 0
        self.ending = False

    def begin(self, pid: int) -> None:
        """The resident task says where it runs."""
        self.resident = pid

    def resident_pid(self) -> int:
        return self.resident

    def end(self) -> None:
        self.ending = True

    def over(self) -> bool:
        return self.ending

    def pid(self) -> int:
        return os.getpid()

    def keep(self, box: list[Any]) -> float:
        self.kept = [*self.kept[-3:], *box]
        return float(sum(np.sum(ray.get(ref)) for ref in box))

    def own(self) -> Any:
        """A worker that has tasks and objects of its own."""
        ref = ray.put(np.ones(LARGE))
        assert ray.get([plus.remote(i, 1) for i in range(10)], timeout=LIMIT)[-1] == 10
        return plus.remote(ref, 1)


@ray.remote(num_cpus=0)
class Brief:
    def add(self, x: int) -> int:
        return x + 1


def small_tasks(_: random.Random) -> None:
    assert ray.get([plus.remote(i, 1) for i in range(100)], timeout=LIMIT) == list(range(1, 101))


def large_values(_: random.Random) -> None:
    ref = ray.put(np.ones(LARGE))
    for _ in range(3):
        ref = plus.remote(ref, 1)
    assert ray.get(ref, timeout=LIMIT)[-1] == 4


def nested(_: random.Random) -> None:
    box = nest.remote(3)
    while box is not None:
        value, *rest = ray.get(box, timeout=LIMIT)
        assert ray.get(value, timeout=LIMIT)[0] == 1
        box = rest[0] if rest else None


def errors(_: random.Random) -> None:
    for ref in [fails.remote() for _ in range(10)]:
        try:
            ray.get(ref, timeout=LIMIT)
        except ValueError:
            continue
        raise AssertionError("it did not fail")


def deaths(_: random.Random) -> None:
    try:
        ray.get(dies.remote(), timeout=LIMIT)
    except ray.exceptions.WorkerCrashedError:
        return
    raise AssertionError("it did not die")


def cancels(chance: random.Random) -> None:
    refs = [sleeps.remote() for _ in range(5)]
    ray.wait(refs, timeout=0.01)
    for ref in refs:
        ray.cancel(ref, force=chance.random() < 0.3)
    for ref in refs:
        try:
            ray.get(ref, timeout=LIMIT)
        except (ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError):
            continue
        raise AssertionError("it was not cancelled")


def actors(chance: random.Random) -> None:
    made = [Brief.remote() for _ in range(2)]
    assert ray.get([one.add.remote(i) for one in made for i in range(10)], timeout=LIMIT)[-1] == 10
    if chance.random() < 0.5:
        ray.kill(made[0])


def named_actors(chance: random.Random) -> None:
    title = f"n{chance.getrandbits(40)}"
    made = Brief.options(name=title).remote()
    assert ray.get(ray.get_actor(title).add.remote(1), timeout=LIMIT) == 2
    del made


def environments(chance: random.Random) -> None:
    """One of a few environments: each new one has a zygote of its own."""
    choice = {"env_vars": {"SOAK": str(chance.randrange(3))}}
    assert ray.get(plus.options(runtime_env=choice).remote(1, 1), timeout=LIMIT) == 2


def steady(_: random.Random) -> None:
    """Work for a worker that nobody kills."""
    values = [plus.options(runtime_env=STEADY).remote(np.ones(LARGE), i) for i in range(10)]
    assert ray.get(values[-1], timeout=LIMIT)[0] == 10
    assert ray.get(values[0], timeout=LIMIT)[0] == 1


#: Kinds of load with how often they are chosen; a new ability of the runtime adds its own.
LOAD: dict[Callable[[random.Random], None], int] = {
    small_tasks: 10,
    large_values: 5,
    nested: 3,
    errors: 3,
    deaths: 1,
    cancels: 1,
    actors: 1,
    named_actors: 1,
    environments: 1,
    steady: 3,
}


class Soak:
    """The load of one run and what is measured of it."""

    def __init__(self, seed: int, series: Series) -> None:
        from eagleray._private.state import process

        self.daemon = process.require().daemon_pid
        self.rounds = 0
        self._chance = random.Random(seed)
        self._keepers = [Keeper.remote() for _ in range(2)]
        pids = ray.get([keeper.pid.remote() for keeper in self._keepers], timeout=LIMIT)
        (zygote,) = [pid for pid in children(self.daemon) if name(pid) == "eagleray-zygote"]
        self._resident = resident.remote([self._keepers[1]])
        until(lambda: ray.get(self._keepers[1].resident_pid.remote(), timeout=LIMIT), LIMIT, "the resident task begins")
        self._start = time.monotonic()
        alone = {
            "driver": os.getpid(),
            "daemon": self.daemon,
            "zygote": zygote,
            "task worker": ray.get(self._keepers[1].resident_pid.remote(), timeout=LIMIT),
            "actor": pids[1],
            "actor of tasks": pids[0],
        }
        self.sampler = Sampler(self.daemon, alone, series, self._start)

    def run(self, minutes: float) -> int:
        """Works for that long; how often the resident task did."""
        while time.monotonic() < self._start + 60 * minutes and self.sampler.trouble is None:
            for load in self._chance.choices(list(LOAD), list(LOAD.values()), k=5):
                load(self._chance)
            for keeper in self._keepers:
                assert ray.get(keeper.keep.remote([ray.put(np.ones(LARGE))]), timeout=LIMIT) == LARGE
            assert ray.get(ray.get(self._keepers[0].own.remote(), timeout=LIMIT), timeout=LIMIT)[-1] == 2
            self.rounds += 1
        self.sampler.stop()
        if self.sampler.trouble is not None:
            raise self.sampler.trouble
        ray.get(self._keepers[1].end.remote(), timeout=LIMIT)
        return int(ray.get(self._resident, timeout=LIMIT))


def soak(seed: int, minutes: float, settled: float, slack: int, out: Path) -> bool:
    """Runs the load and compares; whether something grew."""
    series = Series(out)
    run = Soak(seed, series)
    settled = min(settled, minutes / 2)
    inner = run.run(minutes)
    print(
        f"seed {seed}: {run.rounds} rounds of mixed load in {minutes:g} minutes, {inner} of the resident task; "
        f"{len(run.sampler.crowd)} other workers lived long enough to be measured\n"
        f"MiB; settled: minute {settled:g}; end: minute {minutes:g}; least and most since minute {settled:g}\n{HEAD}"
    )
    verdicts = series.judge(settled, minutes, slack)
    for verdict in verdicts:
        print(verdict.line())
    wrong = [f"{one.role} ({one.kind})" for one in verdicts if not one.right]
    most = f"{PART:.0%}" + (f", and more than {slack >> 20} MiB" if slack else "")
    print(f"{'WRONG: ' + ', '.join(wrong) if wrong else 'RIGHT: nothing'} grew by more than {most}")
    return bool(wrong)


def main(words: list[str]) -> int:
    """Runs what the command line asks for; 1 when memory grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--settled", type=float, default=5, help="the minute that the end is compared with")
    parser.add_argument("--slack", type=int, default=0, help="MiB that a process may grow by in any case")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[3] / "build" / "soak.csv")
    given = parser.parse_args(words)
    os.environ["EAGLERAY_ROBUST_MARK"] = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="er-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ["EAGLERAY_TMPDIR"] = folder
        with ray.init(address="local", num_cpus=2, object_store_memory=300_000_000, log_to_driver=False):
            return int(soak(given.seed, given.minutes, given.settled, given.slack << 20, given.out))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
