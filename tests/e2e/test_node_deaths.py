"""Nodes that stop without a word, and what becomes of the work that they had."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray._private.cli import BINARY
from pace import until
from two_nodes import LIMIT, Node, TwoNodes

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with TwoNodes('--system-config={"node_timeout": 5}') as made:
        yield made


def below(pid: int) -> list[int]:
    """A process with all that it has started, and what that has started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def send(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)


def gone(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def states(node: Node) -> list[list[str]]:
    """The nodes that the status shows, as state and name."""
    rows = [line.split() for line in node("status").splitlines()]
    return [[row[0], row[3]] for row in rows if len(row) > 3 and row[1] in ("head", "node")]


WORK = """
    import json, os, sys, time
    import eagleray as ray

    FOLDER = {folder!r}
    ray.init()

    @ray.remote(num_cpus=1)
    def work(i):
        with open(os.path.join(FOLDER, "runs"), "a") as f:
            f.write(f"{{i}}\\n")
        with open(os.path.join(FOLDER, f"pid-{{i}}-{{ray.get_runtime_context().get_node_id()}}"), "w") as f:
            f.write(str(os.getpid()))
        while not os.path.exists(os.path.join(FOLDER, "go")):
            time.sleep(0.01)
        return ray.get_runtime_context().get_node_id()

    @ray.remote(num_cpus=0, resources={{"b": 0.5}}, max_retries=0)
    def once():
        open(os.path.join(FOLDER, "once"), "w").close()
        time.sleep(600)

    refs = [work.remote(i) for i in range(3)]
    lost = once.remote()
    print("begun", flush=True)
    here = ray.get_runtime_context().get_node_id()
    places = ray.get(refs)
    done = time.time()
    try:
        ray.get(lost, timeout=30)
    except ray.exceptions.RayError as error:
        said = [type(error).__name__, str(error)]
    print(json.dumps([[p == here for p in places], done, said]))
"""

WAITS = """
    import time
    import eagleray as ray

    ray.init()
    ref = ray.remote(lambda: time.sleep(600)).options(num_cpus=0).remote()
    print("begun", flush=True)
    try:
        ray.get(ref)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_a_node_that_is_stopped_dies_its_tasks_run_elsewhere_and_it_comes_back(
    cluster: TwoNodes, tmp_path: Path
) -> None:
    first, second = cluster.first, cluster.second
    local = second.popen(WAITS)
    driver = first.popen(WORK.format(folder=str(tmp_path)))
    for program in (local, driver):
        assert program.stdout is not None and program.stdout.readline() == "begun\n"
    until(lambda: len(list(tmp_path.glob("pid-*"))) == 3)
    until(lambda: (tmp_path / "once").exists())
    warden = second.pid("warden.pid")
    stopped = below(warden)
    try:
        send(stopped, signal.SIGSTOP)
        began = time.time()
        (tmp_path / "go").touch()
        until(lambda: ["unreachable", "two"] in states(first))
        until(lambda: ["dead", "two"] in states(first))
        said, _ = driver.communicate(timeout=LIMIT)
        assert driver.returncode == 0, said
        at_home, done, lost = json.loads(said.splitlines()[-1])
        assert at_home == [True] * 3
        runs = sorted((tmp_path / "runs").read_text().split())
        assert len(runs) == 5 and set(runs) == {"0", "1", "2"}, runs
        assert 4 < done - began < 30, done - began
        assert lost[0] == "NodeDiedError" and "node" in lost[1], lost
        assert local.poll() is None
    finally:
        send(stopped, signal.SIGCONT)
    until(lambda: states(first) == [["alive", "one"], ["dead", "two"], ["alive", "two"]])
    until(lambda: all(gone(pid) for pid in stopped if pid != warden))
    said, _ = local.communicate(timeout=LIMIT)
    assert "LocalRayletDiedError" in said and "the cluster has declared this node dead" in said, said
    assert "nothing was heard from it for 5s" in said and "start the program again" in said, said
    again = """
    import eagleray as ray
    ray.init()
    rows = [(n["NodeName"], n["Alive"], n["Unreachable"], n["DeathReasonMessage"]) for n in ray.nodes()]
    print(rows, ray.get(ray.remote(resources={"b": 1})(lambda: 7).remote()))
    """
    expected = [
        ("one", True, False, ""),
        ("two", False, False, "nothing was heard from it for 5s"),
        ("two", True, False, ""),
    ]
    for node in (first, second):
        assert node.python(again) == f"{expected} 7\n"


COUNTS = """
    import json, os, time
    import eagleray as ray

    FOLDER = {folder!r}
    ray.init()

    def until_free():
        while not os.path.exists(os.path.join(FOLDER, "free")):
            time.sleep(0.01)

    def work(i):
        with open(os.path.join(FOLDER, f"runs-{{i}}"), "a") as f:
            f.write("x")
        until_free()
        return ray.get_runtime_context().get_node_id()

    here = ray.get_runtime_context().get_node_id()
    full = ray.remote(num_cpus=1)(lambda: (open(os.path.join(FOLDER, "full"), "w").close(), until_free()))
    holds = full.remote()
    while not os.path.exists(os.path.join(FOLDER, "full")):
        time.sleep(0.01)
    f = ray.remote(num_cpus=0.2, max_retries=1)(work)
    refs = [f.remote(i) for i in range(12)]
    print("begun", flush=True)
    print(json.dumps([p == here for p in ray.get(refs)]))
"""


def test_a_daemon_that_is_killed_has_its_tasks_tried_again_at_once(cluster: TwoNodes, tmp_path: Path) -> None:
    driver = cluster.first.popen(COUNTS.format(folder=str(tmp_path)))
    assert driver.stdout is not None and driver.stdout.readline() == "begun\n"

    def runs() -> list[int]:
        return [len(path.read_text()) for path in tmp_path.glob("runs-*")]

    until(lambda: len(runs()) == 10)  # that is what the other node has room for
    os.kill(cluster.second.pid("pid"), signal.SIGKILL)
    killed = time.monotonic()
    (tmp_path / "free").touch()
    until(lambda: max(runs()) > 1)
    again = time.monotonic() - killed
    said, _ = driver.communicate(timeout=LIMIT)
    assert driver.returncode == 0, said
    print(f"tried again after {again:.2f} s, the counts of runs are {runs()}")
    assert again < 3  # much less than any silence after which a node would be dead
    assert len(runs()) == 12 and max(runs()) == 2, runs()
    assert json.loads(said.splitlines()[-1]).count(True) >= 2, said


AHEAD = ["unshare", "--user", "--map-current-user", "--time", "--boottime=1000000", "--monotonic=1000000"]


def test_a_node_whose_clocks_are_days_ahead_lives(cluster: TwoNodes) -> None:
    tried = subprocess.run([*AHEAD, "true"], capture_output=True, check=False, text=True)
    if tried.returncode != 0:
        pytest.skip(
            "needs a time namespace: Linux 5.6, user namespaces that this user may make, and `unshare` of util-linux "
            f"2.36 ({tried.stderr.strip()})"
        )
    node = Node(cluster.mark)
    try:
        words = [f"--address={cluster.address}", f"--token-file={cluster.token}", "--node-name=ahead", "--num-cpus=1"]
        subprocess.run(
            [*AHEAD, BINARY, "start", "--object-store-memory=100000000", *words],
            env=node.env,
            check=True,
            timeout=LIMIT,
        )
        began = time.monotonic()
        while time.monotonic() - began < 6:  # longer than it may be silent
            assert ["alive", "ahead"] in states(cluster.first)
            time.sleep(0.5)
        assert node.python("import eagleray as ray; print(ray.get(ray.remote(lambda: 7).remote()))") == "7\n"
    finally:
        node("stop", "--grace-period=20")
        node.clear()
