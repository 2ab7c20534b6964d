"""What tasks on another node than their driver's write, and how it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from two_nodes import TwoNodes

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with TwoNodes(second=("--node-ip-address=127.0.0.2",)) as made:
        yield made


PROGRAM = """
    import sys
    import eagleray as ray

    ray.init({init})
    print("here", ray.get_runtime_context().get_node_id())

    @ray.remote(resources={{"b": 0.25}}, num_cpus=0)
    def far({arguments}):
{body}
        return ray.get_runtime_context().get_node_id()

    node = ray.get(far.remote({arguments}), timeout=60)
    sys.stdout.write(f"far {{node}}\\n")  # in one piece, since lines of workers come meanwhile
    ray.shutdown()
"""


def run(cluster: TwoNodes, body: str, init: str = "") -> list[str]:
    """Runs a task on the second node for a driver on the first one, and returns what the driver showed of it."""
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    out = cluster.first.python(PROGRAM.format(init=init, body=indented, arguments="")).splitlines()
    nodes = {line.split()[0]: line.split()[1] for line in out if line.startswith(("here ", "far "))}
    assert len(nodes) == 2 and nodes["here"] != nodes["far"], out
    return [line for line in out if line.split()[0] not in nodes]


def test_both_streams_are_shown_with_the_address(cluster: TwoNodes) -> None:
    shown = run(cluster, 'print("one")\nprint("two", file=sys.stderr)\nprint("three")')
    shown = [re.sub(r"pid=\d+", "pid=N", line) for line in shown]
    assert sorted(shown) == [
        "(far pid=N, ip=127.0.0.2) one",
        "(far pid=N, ip=127.0.0.2) three",
        "(far pid=N, ip=127.0.0.2) two",
    ]
    assert shown.index("(far pid=N, ip=127.0.0.2) one") < shown.index("(far pid=N, ip=127.0.0.2) three")


@pytest.mark.alone  # the end of a job waits for half a second for lines
def test_many_lines_come_in_order_before_the_driver_ends(cluster: TwoNodes) -> None:
    shown = run(cluster, "for i in range(20_000):\n    print('word', i)")
    assert [line.partition(") ")[2] for line in shown] == [f"word {i}" for i in range(20_000)]


def test_what_is_printed_just_before_the_end_is_shown(cluster: TwoNodes) -> None:
    for i in range(5):
        assert [line.partition(") ")[2] for line in run(cluster, f"print('last words {i}')")] == [f"last words {i}"]


def test_output_can_be_kept_away(cluster: TwoNodes) -> None:
    assert run(cluster, 'print("quiet")', "log_to_driver=False") == []


def test_a_driver_on_the_second_node_shows_output_of_the_first(cluster: TwoNodes) -> None:
    source = """
    import eagleray as ray

    ray.init()
    far = ray.remote(resources={"node:__internal_head__": 0.01}, num_cpus=0)(lambda: print("of the head"))
    ray.get(far.remote(), timeout=60)
    ray.shutdown()
    """
    assert re.fullmatch(r"\(\S+ pid=\d+, ip=127\.0\.0\.1\) of the head\n", cluster.second.python(source))
