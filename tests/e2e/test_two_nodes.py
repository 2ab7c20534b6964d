"""Two nodes of one cluster: what programs on either of them see and do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until
from two_nodes import BINARY, LIMIT, Node, TwoNodes

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with TwoNodes() as made:
        yield made


SEES = """
    import json
    import eagleray as ray

    ray.init()
    here = ray.get_runtime_context().get_node_id()
    task = ray.get(ray.remote(lambda: ray.get_runtime_context().get_node_id()).remote())
    rows = [(n["NodeName"], n["Alive"], n["Resources"].get("CPU")) for n in ray.nodes()]
    mine = [n["NodeName"] for n in ray.nodes() if n["NodeID"] == here]
    print(json.dumps([rows, mine, task == here, ray.cluster_resources(), ray.available_resources().get("b")]))
"""


def test_both_nodes_show_both_and_run_their_own_tasks(cluster: TwoNodes) -> None:
    for node, name in ((cluster.first, "one"), (cluster.second, "two")):
        rows, mine, at_home, totals, available = json.loads(node.python(SEES))
        assert rows == [["one", True, 1.0], ["two", True, 2.0]]
        assert (mine, at_home, available) == ([name], True, 1.0)
        assert (totals["CPU"], totals["b"], totals["node:__internal_head__"]) == (3.0, 1.0, 1.0)
        assert 200_000_000 - 8192 < totals["object_store_memory"] <= 200_000_000


def test_programs_find_their_node_by_the_address_of_the_head(cluster: TwoNodes) -> None:
    source = """
    import eagleray as ray
    ray.init({arguments})
    print([n["NodeName"] for n in ray.nodes() if n["NodeID"] == ray.get_runtime_context().get_node_id()])
    """
    port = cluster.address.rpartition(":")[2]
    for node, name in ((cluster.first, "one"), (cluster.second, "two")):
        heads = [f"127.0.0.1:{int(port) ^ 1}", f"localhost:{port}"]  # at the first one there is none
        for address in (cluster.address, f"localhost:{port}", heads, ", ".join(heads)):
            assert node.python(source.format(arguments=f"address={address!r}")) == f"['{name}']\n"
        node.env["RAY_ADDRESS"] = cluster.address
        assert node.python(source.format(arguments="")) == f"['{name}']\n"
        del node.env["RAY_ADDRESS"]
    elsewhere = source.format(arguments=f"address='127.0.0.1:{int(port) ^ 1}'")
    program = cluster.second.popen(elsewhere)
    out, _ = program.communicate(timeout=LIMIT)
    assert program.returncode == 1 and "ConnectionError" in out and "eagleray start --address=127.0.0.1:" in out


def test_status_of_both_nodes(cluster: TwoNodes) -> None:
    for node in (cluster.first, cluster.second):
        said = node("status")
        assert "alive head" in said and "  one  " in said and "alive node" in said and "  two  " in said
        assert "Resources of 2 nodes (used / total)" in said and " / 3\n" in said


MAKE = """
    import eagleray as ray

    ray.init(namespace="shared")

    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self, n):
            self.n += n
            return self.n, ray.get_runtime_context().get_node_id()

    here = ray.get_runtime_context().get_node_id()  # a node in use sends actors elsewhere
    stays = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=True)
    counter = Counter.options(name="NAME", lifetime="detached", scheduling_strategy=stays).remote()
    n, at = ray.get(counter.add.remote(1))
    print(n, at == here)
"""

USE = """
    import eagleray as ray

    ray.init(namespace="shared")
    counter = ray.get_actor("NAME")
    seen = [ray.get(counter.add.remote(1), timeout=30)[0] for _ in range(20)]
    assert seen == list(range(seen[0], seen[0] + 20)), seen
    n, at = ray.get(counter.add.remote(0))
    print(n, at == ray.get_runtime_context().get_node_id(), sorted(x["name"] for x in ray.util.list_named_actors(True)))
"""


TAKEN = """
    import eagleray as ray

    ray.init(namespace="shared")

    @ray.remote(num_cpus=0)
    class Other:
        pass

    try:
        Other.options(name="NAME").remote()
    except ValueError as error:
        print(error)
"""


def test_named_actors_are_found_and_called_from_both(cluster: TwoNodes) -> None:
    first, second = cluster.first, cluster.second
    assert first.python(MAKE.replace("NAME", "here")) == "1 True\n"
    assert second.python(USE.replace("NAME", "here")) == "21 False ['here']\n"
    assert second.python(MAKE.replace("NAME", "there")) == "1 True\n"
    assert first.python(USE.replace("NAME", "there")) == "21 False ['here', 'there']\n"
    assert "there" in first.python(TAKEN.replace("NAME", "there"))
    for name in ("here", "there"):
        kill = f"import eagleray as ray\nray.init(namespace='shared')\nray.kill(ray.get_actor({name!r}))"
        first.python(kill)
    until(lambda: "0 actors" in first("status") and "0 actors" in second("status"))


LIVES = """
    import sys
    import eagleray as ray

    ray.init(namespace="kept")

    @ray.remote(num_cpus=0)
    class Kept:
        def pid(self):
            import os
            return os.getpid()

    kept = Kept.options(name="kept").remote()
    pid = ray.get(kept.pid.remote())
    double = ray.remote(lambda x: 2 * x)
    print("ready", flush=True)
    for line in sys.stdin:
        assert ray.get(double.remote(int(line)), timeout=30) == 2 * int(line)
        assert ray.get(kept.pid.remote(), timeout=30) == pid
        print("went on", line.strip(), flush=True)
    assert ray.get(ray.get_actor("kept").pid.remote(), timeout=30) == pid
    other = Kept.remote()
    assert ray.get(other.pid.remote(), timeout=30) != pid
    print("all")
"""


def status_of(node: Node) -> str:
    """What ``eagleray status`` shows, nothing while the head is away."""
    return subprocess.run([BINARY, "status"], env=node.env, capture_output=True, text=True, timeout=LIMIT).stdout


def test_the_head_is_killed_and_programs_on_both_nodes_go_on() -> None:
    with TwoNodes() as cluster:
        names = {"kept": cluster.first, "other": cluster.second}
        programs = [node.popen(LIVES.replace('"kept"', f'"{name}"')) for name, node in names.items()]

        def say(text: str) -> None:
            for program in programs:
                assert program.stdin is not None and program.stdout is not None
                program.stdin.write(text + "\n")
                program.stdin.flush()
                assert program.stdout.readline() == f"went on {text}\n"

        for program in programs:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
        say("1")
        for i in range(3):
            killed = cluster.first.pid("head.pid")
            os.kill(killed, signal.SIGKILL)
            say(str(10 + i))
            until(lambda killed=killed: cluster.first.pid("head.pid") != killed)
            until(lambda: "alive node" in status_of(cluster.second))
        for program in programs:
            out, _ = program.communicate(timeout=LIMIT)
            assert (program.returncode, out) == (0, "all\n")
        until(lambda: "alive node" in status_of(cluster.first))
        assert "1 node" not in cluster.first("status")


CONNECTS = """
    import time

    import eagleray as ray

    begun = time.monotonic()
    try:
        ray.init("auto")
    except ray.exceptions.RaySystemError as error:
        print(f"{time.monotonic() - begun:.1f} s: {error}")
    else:
        print("connected")
"""


def test_the_head_is_gone_and_a_program_that_connects_is_told_so_within_10_s() -> None:
    with TwoNodes() as cluster:
        cluster.first("stop")
        stopped = time.monotonic()
        said = cluster.second.python(CONNECTS)
        away = time.monotonic() - stopped
        found = re.match(r"(\S+) s: .*the head of the cluster, at (\S+), has not answered for (\d+)s", said)
        assert found, said
        assert float(found[1]) < 10 and found[2] == cluster.address and 5 <= int(found[3]) <= away + 2, (said, away)
        assert "`eagleray stop`" in said and "`eagleray start --address`" in said


def test_the_head_is_started_again_and_a_program_that_connects_waits_for_it() -> None:
    with TwoNodes() as cluster:
        os.kill(cluster.first.pid("head.pid"), signal.SIGKILL)
        assert cluster.second.python(CONNECTS) == "connected\n"


JOB = """
    import eagleray as ray

    ray.init(namespace="shared")
    names = sorted(row["name"] for row in ray.util.list_named_actors(True))
    print(int(ray.get_runtime_context().get_job_id(), 16), names)
"""


def test_the_next_head_goes_on_with_the_state_that_it_finds(tmp_path: Path) -> None:
    with TwoNodes(f"--state-dir={tmp_path / 'state'}") as cluster:
        first, second = cluster.first, cluster.second
        assert first.python(MAKE.replace("NAME", "here")) == "1 True\n"
        assert second.python(MAKE.replace("NAME", "there")) == "1 True\n"
        program = second.popen(LIVES)
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        number, _, rest = first.python(JOB).partition(" ")
        assert rest == "['here', 'kept', 'there']\n"
        first("stop")
        program.stdin.write("1\n")
        program.stdin.flush()
        assert program.stdout.readline() == "went on 1\n"
        assert "goes on with the cluster" in cluster.start_head(int(cluster.address.rpartition(":")[2]))
        again, _, rest = first.python(JOB).partition(" ")
        assert int(again) > int(number) and rest == "['kept', 'there']\n"
        assert first.python(USE.replace("NAME", "there")) == "21 False ['kept', 'there']\n"
        assert first.python(MAKE.replace("NAME", "here")) == "1 True\n"
        program.stdin.write("2\n")
        out, _ = program.communicate(timeout=LIMIT)
        assert (program.returncode, out) == (0, "went on 2\nall\n")


WATCHES = """
    import eagleray as ray

    ray.init(namespace="shared")
    counter = ray.get_actor("there")
    assert ray.get(counter.add.remote(1))[0] == 2
    print("ready", flush=True)
    input()
    n, at = ray.get(counter.add.remote(1), timeout=30)
    print(n, at == ray.get_runtime_context().get_node_id())
"""


def test_a_node_that_ends_is_dead_for_the_others_with_its_job() -> None:
    with TwoNodes() as cluster:
        restarts = MAKE.replace("NAME", "there").replace("lifetime=", "max_restarts=-1, lifetime=")
        assert cluster.second.python(restarts) == "1 True\n"
        program = cluster.second.popen(LIVES)
        watcher = cluster.first.popen(WATCHES)
        for one in (program, watcher):
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        os.kill(cluster.second.pid("pid"), signal.SIGKILL)
        until(lambda: "dead node" in cluster.first("status"))
        program.kill()
        program.communicate()
        said, _ = watcher.communicate("\n", timeout=LIMIT)
        assert said == "1 True\n", said  # the call had not begun on the node that is gone
        source = """
        import eagleray as ray
        ray.init(namespace="kept")
        print([(n["NodeName"], n["Alive"]) for n in ray.nodes()], ray.cluster_resources()["CPU"])
        try:
            ray.get_actor("kept")
        except ValueError:
            print("gone")
        """
        assert cluster.first.python(source) == "[('one', True), ('two', False)] 1.0\ngone\n"
        said = cluster.join(cluster.second, "--num-cpus=2", "--node-name=again")
        assert "node 3 of the cluster" in said
        until(lambda: "again" in cluster.first("status"))
