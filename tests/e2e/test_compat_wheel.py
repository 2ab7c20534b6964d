"""The wheel of ``python/ray_compat`` in a virtual environment: programs run unchanged, and beside Ray it refuses."""

from __future__ import annotations

import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import environments
import pytest
from environments import Environment, run

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environments.build_compat(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Environment]:
    return lambda **given: Environment(tmp_path / "venv", **given)


@pytest.fixture(params=["2.61.0", "2.60.0"])  # the second has the version that our own entry has
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return environments.like_ray(tmp_path, request.param)


PROGRAM = """
    import importlib.metadata, os, sys
    import ray
    from ray.util.queue import Queue
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    import ray.cloudpickle

    assert ray.__version__ == importlib.metadata.version("ray") == "2.60.0"

    @ray.remote
    def square(x):
        import ray.exceptions, eagleray
        assert ray.exceptions is eagleray.exceptions and ray.is_initialized()
        return x * x

    @ray.remote
    class Total:
        def __init__(self, queue):
            self.queue = queue
        def add(self, refs):
            self.queue.put(sum(ray.get(refs)))
            return type(self.queue).__module__, ray.get_runtime_context().runtime_env.env_vars()

    ray.init(num_cpus=2, runtime_env=ray.runtime_env.RuntimeEnv(env_vars={"A": "1"}), log_to_driver=False)
    queue = Queue()
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    total = Total.options(scheduling_strategy=here).remote(queue)
    print(ray.get(total.add.remote([square.remote(x) for x in range(4)])), queue.get())
    print(ray.get(ray.remote(ray.cloudpickle.loads(ray.cloudpickle.dumps(lambda: ray.__version__))).remote()))
    sys.exit(5)
"""


def test_a_program_runs_unchanged(environment: Callable[..., Environment], wheel: Path, tmp_path: Path) -> None:
    made = environment()
    made.install(wheel)
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    done = run(made.python, program, status=5)
    assert done.stdout == "('eagleray.util.queue', {'A': '1'}) 14\n2.60.0\n", done.stderr
    assert run(made.ray, "--version").stdout.startswith("ray, version 2.60.0 ")
    made.pip("uninstall", "-q", "-y", "eagleray-ray-compat")
    assert "No module named 'ray'" in run(made.python, "-c", "import ray", status=1).stderr
    assert "PackageNotFoundError" in run(made.python, "-c", VERSION, status=1).stderr


VERSION = "import importlib.metadata; importlib.metadata.version('ray')"


def test_the_half_of_it_says_so(environment: Callable[..., Environment], wheel: Path) -> None:
    made = environment(with_eagleray=False)
    made.install(wheel)
    for words in ((made.python, "-c", "import ray"), (made.ray, "status")):
        last = run(*words, status=1).stderr.strip().splitlines()[-1]
        assert "needs is not installed: install eagleray, or run `pip uninstall eagleray-ray-compat`" in last


def test_after_ray_itself_the_import_refuses(environment: Callable[..., Environment], wheel: Path, real: Path) -> None:
    made = environment()
    zipfile.ZipFile(real).extractall(made.site)
    made.install(wheel)
    last = run(made.python, "-c", "import ray", status=1).stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: Ray itself and eagleray-ray-compat are both installed in ")
    for name in ("eagleray-ray-compat", "ray"):  # as the message says
        made.pip("uninstall", "-q", "-y", name)
    assert not (made.site / "ray").exists()


def test_ray_itself_is_not_installed_over_it(environment: Callable[..., Environment], wheel: Path, real: Path) -> None:
    made = environment()
    made.install(wheel)
    said = made.pip("install", "--no-deps", "--no-index", "--force-reinstall", real, status=1)
    assert "ray 2.60.0" in said and "eagleray-ray-compat" in said, said
    assert run(made.python, "-c", "import ray; print(ray.__version__)").stdout == "2.60.0\n"
