"""Two nodes that do not reach each other, while both reach the head: the head carries what goes between them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from net.lab import Lab, unavailable
from processes import until
from test_net import Cluster, line

_WHY = unavailable()
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.skipif(bool(_WHY), reason=_WHY)]

AROUND = "the head carries what goes between the two"
DIRECT = "there is a direct connection with the other node again"
LOST = "the connection with another node is lost"

#: Runs on b. Calls an actor of c one by one, and tasks of c with large arguments and results. For each line of its
#: input it tells what has happened since the line before.
WORK = """
    import json, sys, threading, time
    import numpy as np
    import eagleray as ray

    @ray.remote(num_cpus=0, resources={"c": 1})
    class Actor:
        def __init__(self):
            self.calls, self.kept, self.own = 0, None, ray.put(np.full(50_000, 7))

        def call(self):
            self.calls += 1
            return self.calls

        def keep(self, refs):
            self.kept = refs[0]
            return [self.own]

        def let_go(self):
            self.own = None

        def kept_sum(self):
            return int(ray.get(self.kept).sum())

    @ray.remote(num_cpus=0.25, resources={"c": 1}, max_retries=0)
    def double(array):
        return array * 2

    def calls():
        while True:
            began = time.perf_counter()
            number = ray.get(actor.call.remote())
            times.append(time.perf_counter() - began)
            numbers.append(number)

    def tasks():
        k = 0
        while True:
            began = time.perf_counter()
            array = ray.get(double.remote(np.full(50_000, k)))  # 400 kB there and back
            slow.append(time.perf_counter() - began)
            if array.sum() != 100_000 * k:
                wrong.append(k)
            k += 1

    ray.init(log_to_driver=False)
    actor, times, numbers, slow, wrong = Actor.remote(), [], [], [], []
    (theirs,) = ray.get(actor.keep.remote([ray.put(np.full(50_000, 5))]))  # only the actor has it from now on
    ray.get(actor.let_go.remote())  # only this process has it from now on
    for work in (calls, tasks):
        threading.Thread(target=work, daemon=True).start()
    print("ready")
    for text in sys.stdin:
        if text.strip() == "end":
            kept, own = ray.get(actor.kept_sum.remote()), int(ray.get(theirs).sum())
            in_order = numbers == list(range(1, len(numbers) + 1))
            print(json.dumps({"kept": kept, "theirs": own, "wrong": wrong, "in_order": in_order}))
            break
        taken, times[:], whole, slow[:] = sorted(times), [], sorted(slow), []
        median = taken[len(taken) // 2] if taken else None
        said = {"calls": len(taken), "slowest": max(taken, default=0), "median": median}
        print(json.dumps(said | {"tasks": len(whole), "slowest_task": max(whole, default=0)}))
"""


@pytest.fixture
def three() -> Iterator[Cluster]:
    with Lab(3) as lab:
        made = Cluster(lab)
        yield made
        made.ends()


def says(program: subprocess.Popen[str], word: str = "") -> dict[str, Any]:
    assert program.stdin
    program.stdin.write(word + "\n")
    program.stdin.flush()
    said: dict[str, Any] = json.loads(line(program))
    return said


def logs(cluster: Cluster, text: str) -> list[int]:
    """How often the daemons of b and c have logged something."""
    return [(machine.session() / "logs" / "daemon.log").read_text().count(text) for machine in (cluster.b, cluster.c)]


@pytest.mark.parametrize(
    "one, other, both, seconds", [("b", "c", True, 75), ("b", "c", False, 15), ("c", "b", False, 15)]
)
def test_a_cut_between_two_nodes_pauses_for_seconds_and_loses_nothing(
    three: Cluster, one: str, other: str, both: bool, seconds: float
) -> None:
    program = three.b.python(WORK)
    assert line(program) == "ready"
    time.sleep(2)
    before = says(program)
    assert before["calls"] > 20 and before["tasks"] > 2, before
    assert logs(three, AROUND) == [0, 0]
    three.lab.cut(one, other, both)
    until(lambda: logs(three, AROUND) == [1, 1], 30, "the session goes through the head")
    time.sleep(3)
    pause = says(program)
    assert 4 < pause["slowest"] < 9, f"calls pause for some 5 s: {pause}"
    time.sleep(seconds - 10)
    around = says(program)
    assert around["calls"] > 20 and around["slowest"] < 3, f"calls go on through the head: {around}"
    assert around["tasks"] > 2, f"tasks with large arguments go on through the head: {around}"
    three.lab.heal(one, other, both)
    until(lambda: logs(three, DIRECT) == [1, 1], 40, "the session goes directly again")
    time.sleep(1)
    says(program)
    time.sleep(2)
    after = says(program)
    print(f"before {before}\npause {pause}\naround {around}\nafter {after}")
    assert after["calls"] > 20 and after["tasks"] > 2, after
    said = says(program, "end")
    assert said == {"kept": 250_000, "theirs": 350_000, "wrong": [], "in_order": True}
    assert program.wait(60) == 0
    assert logs(three, LOST) == [0, 0]
    assert logs(three, AROUND) == [1, 1]
