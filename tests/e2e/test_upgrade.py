"""A cluster that is upgraded from one build to the next while a program works.

The second build is made of the same sources, by ``make build/ahead/.ready``: each version that two builds compare is
one higher there. So its heads and nodes are to these what those of the next release are.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until
from two_nodes import LIMIT
from upgraded import AHEAD, HERE, ROOT, WORKS, Upgraded

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", autouse=True)
def _build() -> None:
    subprocess.run(["make", "-s", "build/ahead/.ready"], cwd=ROOT, check=True)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Upgraded]:
    with Upgraded(tmp_path) as made:
        made.add(0, "one")
        made.add(1, "two")
        yield made


NEW = """
    import json

    import eagleray as ray

    ray.init(namespace="works")

    @ray.remote(num_cpus=1)
    class Here:
        def where(self):
            return ray.get_runtime_context().get_node_id()

    three = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == "three" and n["Alive"])
    where = ray.remote(lambda: ray.get_runtime_context().get_node_id())
    assert set(ray.get([where.remote() for _ in range(20)], timeout=60)) == {three}
    mine = Here.remote()
    assert ray.get(mine.where.remote(), timeout=60) == three
    lasting = ray.get_actor("lasting")
    try:
        print(ray.get(lasting.add.remote(), timeout=60))
    except (ray.exceptions.RaySystemError, ray.exceptions.ActorUnavailableError) as error:
        print(error)
"""


DEAD = """
    import eagleray as ray

    ray.init()
    for name in ("one", "two"):
        print(next(n["DeathReasonMessage"] for n in ray.nodes() if n["NodeName"] == name))
"""


def test_heads_and_nodes_are_upgraded_while_a_program_works(cluster: Upgraded) -> None:
    one, two, three = cluster.others
    first, second, third = cluster.nodes
    program = one.popen(WORKS)
    assert program.stdin is not None and program.stdout is not None and program.stdout.readline() == "works\n"
    until(lambda: cluster.levels()[0] > 0)
    level, known = cluster.levels()
    assert known == [level] * 3

    # One head is upgraded. The others do not know what is new, so it is not in use, and the head can go back.
    cluster.replace(first, AHEAD)
    assert cluster.levels() == (level, [level, level, level + 1])
    assert "An upgrade is under way: these heads are of an older release: " in one("heads", "list")
    cluster.replace(first, HERE)
    assert cluster.levels() == (level, [level] * 3)

    # All are upgraded, and what is new is in use from the moment when the last one is.
    cluster.replace(first, AHEAD)
    cluster.replace(second, AHEAD)
    assert cluster.levels() == (level, [level, level + 1, level + 1])
    cluster.replace(third, AHEAD)
    until(lambda: cluster.levels() == (level + 1, [level + 1] * 3))
    assert "upgrade" not in one("heads", "list")

    # A node of the new build joins. Programs of the old nodes use it for nothing, and say so.
    three.use(AHEAD)
    cluster.add(2, "three")
    print("waits", file=program.stdin, flush=True)
    assert program.stdout.readline() == "waits\n"
    new = three.popen(NEW)
    said, _ = new.communicate(timeout=LIMIT)
    assert new.returncode == 0 and "is of another release of Eagle Ray: its processes speak version " in said, said

    # An old head is refused from now on, as one that comes back and as one that joins, and changes nothing.
    first("stop")
    first.use(HERE)
    refused = cluster.refused(first, cluster.folder / "1")
    assert "Start this head with the release of the other heads" in refused, refused
    assert f"level {level + 1} is in use, and this release knows levels up to {level}" in refused, refused
    refused = cluster.refused(first, cluster.folder / "empty")
    assert "Install the release of the other heads on its machine" in refused, refused
    first.use(AHEAD)
    cluster.join(first)

    # The old nodes are left by their programs. What nothing of the old build is left for goes on at the new node.
    why = program.stdout.readline()
    assert (
        "task <lambda> has waited" in why
        and "4 nodes of the cluster are of another release (their processes speak" in why
    )
    said, _ = program.communicate("over\n", timeout=LIMIT)
    assert program.returncode == 0, said
    wrong, did, _, done = json.loads(said.splitlines()[-1])
    assert not wrong and not done and len(did) == 6 and all(did.values()), said
    one("stop")
    cluster.installed.unlink()
    cluster.installed.symlink_to(AHEAD)
    two("stop")
    until(lambda: re.fullmatch(r"[0-9]+\n", three.python(NEW)))
    # Their wardens have said so to the heads, which are all at other addresses than when those nodes were started.
    assert three.python(DEAD).split("\n")[:2] == ["it was stopped", "it was stopped"], three.python(DEAD)
