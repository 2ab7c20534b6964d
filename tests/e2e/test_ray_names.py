"""Every name of Ray's Core that libraries use stands for a thing of the same kind here (tests/compat/names.json)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "compat"))

import names

ROOT = Path(__file__).parents[2]
NAMES = ROOT / "tests" / "compat" / "names.py"
TABLE = names.load()
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python" / "ray_compat")}

#: Public names of Ray whose absence is told of by AttributeError's own words: parts of others' work, and constants.
PLAIN = (
    *("ray.util.serialization.StandaloneSerializationContext", "ray.util.actor_group.ActorConfig"),
    *("ray.util.debug.Suspect", "ray.util.placement_group.validate_placement_group"),
)


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    done = subprocess.run([sys.executable, NAMES], env=ENV, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    kinds: dict[str, str] = json.loads(done.stdout)
    return kinds


@pytest.mark.parametrize("name", TABLE["outside"])
def test_name_that_libraries_use(name: str, found: dict[str, str]) -> None:
    if found[name].startswith("missing") and name.startswith(names.WITH_OTHERS):
        pytest.skip("dask is not installed")
    assert found[name] == TABLE["outside"][name]


@pytest.mark.parametrize("name", TABLE["public"])
def test_public_name(name: str, found: dict[str, str]) -> None:
    if not found[name].startswith("missing"):
        assert found[name] == TABLE["public"][name]
    elif name not in PLAIN and not name.startswith(names.WITH_OTHERS):
        assert found[name].startswith("missing: Eagle Ray ") and " has no ray." in found[name], found[name]


#: Ray loads many of its modules with ``import ray``, so their names are read as attributes: names_bare.json has those.
BARE = """
    import functools, json, ray, sys
    for name in json.loads(sys.argv[1]):
        functools.reduce(getattr, name.split(".")[1:], ray)
    assert not ray.is_initialized()
"""


def test_attributes_after_a_bare_import() -> None:
    recorded = json.loads((NAMES.parent / "names_bare.json").read_text())
    chosen = [name for name in recorded if not name.startswith(names.WITH_OTHERS)]
    assert len(chosen) > 100
    command = [sys.executable, "-c", textwrap.dedent(BARE), json.dumps(chosen)]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


KEYWORDS = """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    from ray.util.placement_group import placement_group

    assert ray.init(
        address="local", num_gpus=1, resources={"x": 8}, ignore_reinit_error=True, log_to_driver=False,
        namespace="names", include_dashboard=False, runtime_env={"env_vars": {"A": "1"}},
    )
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    group = placement_group([{"CPU": 0.25}])
    refs = []

    def task(): return 1

    for given in (
        {"scheduling_strategy": here}, {"num_gpus": 0.5}, {"resources": {"x": 1}}, {"num_returns": 1},
        {"runtime_env": {"env_vars": {"B": "2"}}}, {"placement_group": group, "num_cpus": 0.25}, {"max_retries": 1},
    ):
        refs += [ray.remote(**given)(task).remote(), ray.remote(task).options(**given).remote()]

    class Actor:
        def run(self): return 1

        @ray.method(concurrency_group="io")
        def io(self): return 1

    for number, given in enumerate((
        {"scheduling_strategy": here}, {"num_gpus": 0.25}, {"resources": {"x": 1}}, {"max_concurrency": 2},
        {"lifetime": "detached", "name": "a"}, {"namespace": "other", "name": "b"}, {"max_restarts": 1},
        {"max_task_retries": 1}, {"get_if_exists": True, "name": "c"}, {"runtime_env": {"env_vars": {"B": "2"}}},
        {"placement_group": group, "num_cpus": 0}, {"concurrency_groups": {"io": 1}},
    )):
        made = [ray.remote(**{"num_cpus": 0, "concurrency_groups": {"io": 1}, **given})(Actor).remote()]
        if "name" not in given:
            groups = {} if "concurrency_groups" in given else {"concurrency_groups": {"io": 1}}
            made.append(ray.remote(**groups)(Actor).options(**{"num_cpus": 0, **given}).remote()) if groups else None
        refs += [ray.get(actor.run.remote()) and actor.io.remote() for actor in made]
        for actor in made:
            refs.append(actor.run.options(concurrency_group="io").remote())
            ray.get(refs)
            ray.kill(actor)
    for call in (lambda: ray.method(tensor_transport="nccl")(task),
                 lambda: ray.remote(Actor).options(enable_tensor_transport=True)):
        try:
            call()
        except ValueError as error:
            assert "tensor" in str(error), error
        else:
            raise AssertionError(call)
    assert set(ray.get(refs)) == {1}
    print("all")
"""


def test_keywords_that_libraries_use() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KEYWORDS)], env=ENV, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "all\n", done.stderr
