"""What programs and nodes notice of heads that end, move and come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from pace import until
from several_heads import Heads
from two_nodes import LIMIT

pytestmark = pytest.mark.timeout(300)

FOLDER = """
    import os

    import eagleray as ray
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(runtime_env={{"working_dir": {folder!r}}})

    @ray.remote(num_cpus=0)
    def look():
        import only_here

        return only_here.VALUE, os.getcwd() != {folder!r}

    print("begun", flush=True)
    name = input()
    number = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == name)
    there = look.options(scheduling_strategy=NodeAffinitySchedulingStrategy(number, soft=False))
    print(ray.get(there.remote(), timeout=60))
"""


def test_folders_outlive_the_leader(tmp_path: Path) -> None:
    (tmp_path / "only_here.py").write_text("VALUE = 3\n")
    with Heads(3) as heads:
        leader = heads.leader()
        mine, other = (n for n in heads.nodes if n != leader)
        program = mine.popen(FOLDER.format(folder=str(tmp_path)))
        assert program.stdout is not None and program.stdout.readline() == "begun\n"
        leader("stop")
        until(lambda: any(h["role"] == "leader" and h["healthy"] for h in heads.list(mine)))
        said, _ = program.communicate(str(heads.nodes.index(other) + 1) + "\n", timeout=LIMIT)
        assert said == "(3, True)\n", said


ASKS = """
    import eagleray as ray
    from eagleray.autoscaler.sdk import request_resources

    ray.init()
    request_resources({arguments})
"""


def test_requests_of_resources_outlive_program_and_leader() -> None:
    with Heads(3) as heads:
        mine = heads.nodes[0]
        assert "request_resources" not in mine("status")
        mine.python(ASKS.format(arguments="num_cpus=100"))
        labels = 'bundles=[{"CPU": 2, "GPU": 0.5}] * 3, bundle_label_selectors=[{"zone": "in(a,b)"}] * 3'
        mine.python(ASKS.format(arguments=labels))  # replaces the first one
        heads.kill(heads.leader())
        until(heads.healthy)
        for node in heads.nodes:
            said = node("status")
            shown = said.partition("Demands from request_resources()\n")[2]
            assert shown == '  3 \u00d7 {"CPU": 2, "GPU": 0.5} on nodes with zone=in(a,b)\n', said
        mine.python(ASKS.format(arguments=""))
        assert "request_resources" not in mine("status")
