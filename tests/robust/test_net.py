"""The lab's network does what it says, and a cluster over it loses nothing when a way is cut for a while."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray._private.cli import BINARY
from net.lab import Lab, unavailable
from net.machine import Machine
from processes import alive, until

_WHY = unavailable()
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.skipif(bool(_WHY), reason=_WHY)]

#: Answers each datagram with its own text, and says where it listens.
ECHO = """
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", 7))
        print("ready")
        while True:
            text, sender = s.recvfrom(100)
            print("got", text.decode())
            s.sendto(text, sender)
"""
#: Sends datagrams, and prints how many ms the answer to each took, or "nothing" when none came in half a second.
ASK = """
    import socket, sys, time

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.5)
        for line in sys.stdin:
            address, text = line.split()
            began = time.perf_counter()
            s.sendto(text.encode(), (address, 7))
            try:
                assert s.recv(100) == text.encode()
                print((time.perf_counter() - began) * 1e3)
            except TimeoutError:
                print("nothing")
"""
#: Sends 4 MB to whoever connects.
SEND = """
    import socket

    with socket.create_server(("", 7)) as server:
        print("ready")
        c, _ = server.accept()
        c.sendall(bytes(4_000_000))
        c.close()
"""
RECEIVE = """
    import socket, sys, time

    with socket.create_connection((sys.argv[1], 7)) as s:
        began, got = time.perf_counter(), 0
        while part := s.recv(1 << 16):
            got += len(part)
        print(got * 8 / (time.perf_counter() - began) / 1e6)
"""


def line(program: subprocess.Popen[str]) -> str:
    """The next line that a program prints."""
    assert program.stdout
    text = program.stdout.readline()
    assert text, f"the program has ended: {program.wait()}"
    return text.strip()


def asks(program: subprocess.Popen[str], address: str, text: str) -> str:
    assert program.stdin
    program.stdin.write(f"{address} {text}\n")
    program.stdin.flush()
    return line(program)


def test_cuts_are_silent_and_go_one_way_or_both() -> None:
    with Lab(3) as lab:
        a, b, c = (lab.machines[name] for name in "abc")
        echo, ask, third = b.python(ECHO), a.python(ASK), c.python(ASK)
        assert line(echo) == "ready"
        assert float(asks(ask, b.address, "whole")) < 400
        assert line(echo) == "got whole"
        lab.cut("b", "a", both=False)
        assert asks(ask, b.address, "one") == "nothing"
        assert line(echo) == "got one", "the other way is open"
        lab.cut("a", "b", both=False)
        assert asks(ask, b.address, "both") == "nothing"
        assert float(asks(third, b.address, "third")) < 400
        assert line(echo) == "got third", "what was sent through the cut is not delivered later"
        lab.heal("a", "b")
        assert float(asks(ask, b.address, "again")) < 400
        lab.isolate("b")
        assert asks(third, b.address, "alone") == "nothing"
        lab.rejoin("b")
        assert float(asks(third, b.address, "back")) < 400


def test_delays_and_bounds_of_speed() -> None:
    with Lab(3) as lab:
        a, b, c = (lab.machines[name] for name in "abc")
        echo, ask = b.python(ECHO), a.python(ASK)
        assert line(echo) == "ready"
        asks(ask, b.address, "first")
        lab.delay("a", "b", 30)
        assert min(float(asks(ask, b.address, "late")) for _ in range(5)) >= 60
        send = c.python(SEND)
        assert line(send) == "ready"
        lab.shape("c", 20)
        assert 10 < float(line(a.python(RECEIVE, c.address))) < 24


def test_a_lab_whose_program_is_killed_leaves_nothing() -> None:
    source = """
        import sys, time
        from net.lab import Lab

        lab = Lab(2)
        lab.machines["a"].python("import time; time.sleep(1000)")
        lab.delay("a", "b", 1)
        print(*lab.processes(), flush=True)
        time.sleep(1000)
    """
    words = [sys.executable, "-c", textwrap.dedent(source)]
    with subprocess.Popen(words, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True) as program:
        pids = [int(word) for word in line(program).split()]
        program.send_signal(signal.SIGKILL)
    assert len(pids) >= 4
    until(lambda: not any(map(alive, pids)), 30, f"the processes {pids} of the lab end")


class Cluster:
    """Three nodes: a has the head and no work, b and c have a resource of their names."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.a, self.b, self.c = (lab.machines[name] for name in "abc")
        small = ("--num-gpus=0", "--object-store-memory=200000000")
        head = self.a.start_head("--num-cpus=1", *small)
        for machine in (self.b, self.c):
            machine.join(head, "--num-cpus=2", f'--resources={{"{machine.name}": 8}}', *small)

    def ends(self) -> None:
        """Stops the nodes; then nothing of them may be left."""
        machines: list[Machine] = [self.c, self.b, self.a]
        for machine in machines:
            machine("stop")
        until(lambda: not any(machine.members() for machine in machines), 30, "the nodes' processes end")
        sockets = self.lab.run("cat", "/proc/net/unix")
        assert not [machine.name for machine in machines if str(machine.folder) in sockets]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Lab(3) as lab:
        made = Cluster(lab)
        yield made
        made.ends()


#: Makes objects on b that c reads, and the other way, and counts how often each task ran. The tasks may run once only.
WORK = """
    import json, os, sys, threading, time
    import numpy as np
    import eagleray as ray

    runs, seconds = sys.argv[1], float(sys.argv[2])

    @ray.remote(num_cpus=0.25, max_retries=0)
    def make(number, where):
        with open(runs, "a") as f:
            f.write(f"make {number}\\n")
        return np.full(50_000, number)  # 400 kB

    @ray.remote(num_cpus=0.25, max_retries=0)
    def total(number, array, inside):
        with open(runs, "a") as f:
            f.write(f"total {number}\\n")
        return int(array.sum()) + int(ray.get(inside[0]).sum())

    ray.init(log_to_driver=False)
    print("ready")
    sys.stdin.readline()
    end, number, wrong, waiting, slowest = time.monotonic() + seconds, 0, [], {}, 0.0
    while waiting or time.monotonic() < end:
        while len(waiting) < 8 and time.monotonic() < end:
            one, other = ("b", "c") if number % 2 else ("c", "b")
            made = make.options(resources={one: 1}).remote(number, one)
            near = make.options(resources={other: 1}).remote(number + 1_000_000, other)
            ref = total.options(resources={other: 1}).remote(number, made, [near])
            waiting[ref] = number, time.monotonic()
            number += 1
        ready, _ = ray.wait(list(waiting), timeout=60)
        assert ready, "nothing was done for a minute"
        for ref in ready:
            which, began = waiting.pop(ref)
            slowest = max(slowest, time.monotonic() - began)
            if ray.get(ref) != 50_000 * which * 2 + 50_000 * 1_000_000:
                wrong.append(which)
    print(json.dumps({"number": number, "wrong": wrong, "slowest": slowest}))
"""


@pytest.mark.parametrize("one, other, both", [("b", "c", True), ("a", "b", True), ("a", "b", False), ("b", "a", False)])
def test_a_cut_of_three_seconds_loses_nothing(
    cluster: Cluster, tmp_path: Path, one: str, other: str, both: bool
) -> None:
    runs = tmp_path / "runs"
    program = cluster.a.python(WORK, str(runs), "8")
    assert line(program) == "ready"
    assert program.stdin
    program.stdin.write("go\n")
    program.stdin.flush()
    until(lambda: runs.exists() and len(runs.read_text().splitlines()) >= 30, 60, "the work has begun")
    cluster.lab.cut(one, other, both)
    time.sleep(3)  # how long the cut lasts
    cluster.lab.heal(one, other, both)
    said = json.loads(line(program))
    assert program.wait(60) == 0
    counts = runs.read_text().splitlines()
    assert said["wrong"] == []
    assert said["slowest"] > 1, f"nobody has felt the cut: {said}"
    assert len(counts) == len(set(counts)) == 3 * said["number"], "each task has run once"


#: Prints how many nodes there are, and runs a task on each; ends with a status of its own.
COUNTS = """
    import sys
    import eagleray as ray

    ray.init(log_to_driver=False)
    alive = [row["NodeName"] for row in ray.nodes() if row["Alive"]]
    where = ray.remote(num_cpus=0)(lambda: ray.get_runtime_context().get_node_id())
    places = {ray.get(where.options(resources={f"node:{name}": 0.1}).remote()) for name in sys.argv[1:]}
    print("PLACES", len(alive), len(places))
    sys.exit(3)
"""


def test_symmetric_run_on_three_machines() -> None:
    with Lab(3) as lab:
        machines = list(lab.machines.values())
        words = [f"--address={machines[1].address}:6379", "--min-nodes=3", "--num-cpus=1", "--num-gpus=0"]
        words += ["--object-store-memory=100000000", "--", sys.executable, "-c", textwrap.dedent(COUNTS)]
        commands = []
        for machine in machines:
            machine.env["RAY_AUTH_TOKEN"] = "a token for three machines"
            line_ = [BINARY, "symmetric-run", *words, *(one.address for one in machines)]
            commands.append(machine.popen(*line_))
        said = [command.communicate(timeout=120)[0] for command in commands]
        assert [command.returncode for command in commands] == [0, 3, 0], said
        assert "PLACES 3 3" in said[1]
        assert "PLACES" not in said[0] + said[2]
        assert "the program has ended" in said[0] and "the program has ended" in said[2]
        until(lambda: not any(machine.members() for machine in machines), 30, "the nodes' processes end")
