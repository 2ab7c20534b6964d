"""A cluster started by hand, shared by several drivers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from eagleray._private.cli import BINARY


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """A started cluster; the variables that programs need to find it."""
    folder = tempfile.mkdtemp(prefix="er", dir="/tmp")
    env = {**os.environ, "EAGLERAY_TMPDIR": folder, "EAGLERAY_PYTHON": sys.executable}
    env.pop("RAY_ADDRESS", None)
    start = [BINARY, "start", "--head", "--num-cpus", "3", "--num-gpus", "1", "--resources", '{"tool": 2}']
    done = subprocess.run(start, env=env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    yield env
    done = subprocess.run([BINARY, "stop"], env=env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(folder)


def test_bare_init_joins_and_leaves(script: Any, cluster: dict[str, str]) -> None:
    source = """
    import eagleray as ray
    ray.init({arguments})
    totals = ray.cluster_resources()
    assert (totals["CPU"], totals["GPU"], totals["tool"]) == (3.0, 1.0, 2.0)

    @ray.remote(num_gpus=1)
    def f(x):
        return x + 1, ray.get_gpu_ids()

    print(ray.get(f.remote(1)))
    ray.shutdown()
    """
    for arguments in ("", "address='auto'", ""):
        assert script(source.format(arguments=arguments), env=cluster).stdout == "(2, [0])\n"


def test_address_of_the_session(script: Any, cluster: dict[str, str]) -> None:
    folder = script("import eagleray as ray\nprint(ray.init()['address'])", env=cluster).stdout.strip()
    other = {name: text for name, text in cluster.items() if name != "EAGLERAY_TMPDIR"}
    source = "import eagleray as ray\nray.init()\nprint(ray.cluster_resources()['tool'])"
    assert script(source, env={**other, "RAY_ADDRESS": folder}).stdout == "2.0\n"
    for variable in ("RAY_ADDRESS", "EAGLERAY_ADDRESS"):  # the message names the one that counted
        done = script(source, env={**other, variable: "10.9.9.9:6379"}, check=False)
        assert f"ConnectionError: {variable} '10.9.9.9:6379'" in done.stderr
    done = script("import eagleray as ray\nray.init(address=[])", env=other, check=False)
    assert "ValueError: address is an empty list" in done.stderr


def test_ray_experimental_needs_no_import_of_its_own(script: Any) -> None:
    done = script("import eagleray as ray\nprint(ray.experimental.get_object_locations.__name__)")
    assert done.stdout == "get_object_locations\n"


def test_resources_cannot_be_declared_when_joining(script: Any, cluster: dict[str, str]) -> None:
    done = script("import eagleray as ray\nray.init(num_cpus=1)", env=cluster, check=False)
    assert "ValueError" in done.stderr and "num_cpus" in done.stderr


def test_local_starts_a_session_of_its_own(script: Any, cluster: dict[str, str]) -> None:
    source = "import eagleray as ray\nray.init(address='local', num_cpus=1)\nprint(ray.cluster_resources()['CPU'])"
    assert script(source, env=cluster).stdout == "1.0\n"


def test_drivers_share_named_actors(script: Any, cluster: dict[str, str]) -> None:
    first = """
    import eagleray as ray
    ray.init(namespace="shared")

    @ray.remote
    class Counter:
        def __init__(self):
            self.n = 0
        def add(self, n):
            self.n += n
            return self.n

    counter = Counter.options(name="counter", lifetime="detached").remote()
    print(ray.get(counter.add.remote(1)))
    Counter.options(name="mine").remote()
    """
    second = """
    import eagleray as ray
    ray.init(namespace="shared")
    print(ray.get(ray.get_actor("counter").add.remote(10)))
    print(ray.util.list_named_actors(all_namespaces=True))
    ray.kill(ray.get_actor("counter"))
    """
    assert script(first, env=cluster).stdout == "1\n"
    lines = script(second, env=cluster).stdout.splitlines()
    assert lines == ["11", "[{'name': 'counter', 'namespace': 'shared'}]"], "the other ended with its driver"


def test_drivers_at_the_same_time(script: Any, cluster: dict[str, str], tmp_path: Any) -> None:
    program = tmp_path / "worker.py"
    program.write_text(
        "import eagleray as ray, sys\nray.init()\n"
        "f = ray.remote(lambda x: x * int(sys.argv[1]))\n"
        "f = ray.remote(lambda x, k: x * k)\n"
        "print(sum(ray.get([f.remote(i, int(sys.argv[1])) for i in range(300)])))\n"
    )
    children = [
        subprocess.Popen([sys.executable, str(program), str(k)], env=cluster, stdout=subprocess.PIPE, text=True)
        for k in (1, 2, 3)
    ]
    assert [int(child.communicate(timeout=60)[0]) for child in children] == [44850 * k for k in (1, 2, 3)]


def test_what_is_left_of_an_earlier_session_is_not_let_go_in_the_next(script: Any, cluster: dict[str, str]) -> None:
    """A handle and a reference that go in the next session leave that one's of the same things alone."""
    source = """
    import gc
    import eagleray as ray

    class Keeper:
        def __init__(self):
            self.values = [ray.put(7)]
        def get(self):
            return self.values

    ray.init(namespace="again")
    h = ray.remote(Keeper).options(name="keeper", lifetime="detached", num_cpus=0).remote()
    ref = ray.get(h.get.remote())[0]
    for _ in range(2):
        ray.shutdown()
        ray.init(namespace="again")
        h = ray.get_actor("keeper")
        ref = ray.get(h.get.remote())[0]
        gc.collect()
        print(ray.get(h.get.remote()) == [ref], ray.get(ref))
    ray.kill(h)
    """
    assert script(source, env=cluster).stdout == "True 7\nTrue 7\n"
