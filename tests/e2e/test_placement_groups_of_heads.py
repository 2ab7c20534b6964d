"""Placement groups while heads die: none is lost, none is kept, and nothing of a node stays set aside."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pace import until
from several_heads import Heads
from two_nodes import LIMIT

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def three() -> Iterator[Heads]:
    with Heads(3) as made:
        yield made


#: Groups come and go, and one stays with an actor in each of its bundles, until a line is read.
WORKS = """
    import json, sys, threading, time
    import eagleray as ray
    from eagleray.util.placement_group import placement_group, placement_group_table, remove_placement_group
    from eagleray.util.scheduling_strategies import PlacementGroupSchedulingStrategy as In

    ray.init()
    before = {name: n for name, n in ray.cluster_resources().items() if "group" not in name}

    @ray.remote
    class Member:
        calls = 0

        def call(self):
            self.calls += 1
            return self.calls

    here = ray.remote(num_cpus=0.25)(lambda: ray.get_runtime_context().get_placement_group_id())
    kept = placement_group([{"CPU": 0.25}] * 3, "STRICT_SPREAD")
    members = [Member.options(num_cpus=0.25, scheduling_strategy=In(kept, i)).remote() for i in range(3)]
    assert ray.get([m.call.remote() for m in members], timeout=60) == [1, 1, 1]
    print("works", flush=True)
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
    rounds, longest = 0, 0.0
    while not over.is_set():
        begun = time.monotonic()
        groups = [placement_group([{"CPU": 0.25}] * 2, strategy) for strategy in ("SPREAD", "PACK")]
        for group in groups:
            assert group.wait(60), placement_group_table(group)
            refs = [here.options(scheduling_strategy=In(group, i)).remote() for i in range(2)]
            assert ray.get(refs, timeout=60) == [group.id.hex()] * 2
        for group in groups:
            remove_placement_group(group)
        rounds += 1
        assert ray.get([m.call.remote() for m in members], timeout=60) == [rounds + 1] * 3
        longest = max(longest, time.monotonic() - begun)
    states = [row["state"] for row in placement_group_table().values()]
    assert states.count("CREATED") == 1 and states.count("REMOVED") == 2 * rounds, states
    remove_placement_group(kept)
    deadline = time.monotonic() + 30
    while (left := ray.available_resources()).get("CPU") != before["CPU"] or any("group" in name for name in left):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    print(json.dumps([rounds, longest]))
"""


def test_leaders_are_killed_while_groups_are_made_and_removed(three: Heads) -> None:
    program = three.nodes[2].popen(WORKS)
    assert program.stdout is not None and program.stdout.readline() == "works\n"
    for _ in range(5):
        three.kill(three.leader())
        until(three.healthy)
    said, _ = program.communicate("\n", timeout=LIMIT)
    assert program.returncode == 0, said
    rounds, longest = json.loads(said)
    assert rounds > 5 and longest < 30, said
