"""The wheel of ``python/ray_compat`` in a virtual environment: programs run unchanged, and beside Ray it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

COMPAT = Path(__file__).parents[2] / "python" / "ray_compat"
pytestmark = pytest.mark.timeout(300)


def run(*words: object, status: int | None = 0, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "RAY_ADDRESS")}
    done = subprocess.run(
        [str(word) for word in words], env={**clean, **env}, capture_output=True, text=True, timeout=200
    )
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(COMPAT, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, source)
    (built,) = folder.glob("*.whl")
    return built


class Environment:
    """A virtual environment whose packages are those of this one, or none."""

    def __init__(self, folder: Path, with_eagleray: bool = True) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        self.python = folder / "bin" / "python"
        self.ray = folder / "bin" / "ray"
        (self.site,) = folder.glob("lib/python*/site-packages")
        if with_eagleray:
            text = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
            (self.site / "packages.pth").write_text(text)

    def pip(self, *words: object, status: int = 0) -> str:
        command = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check"]
        done = run(*command, *words, status=status)
        return done.stdout + done.stderr

    def install(self, *wheels: Path) -> None:
        self.pip("install", "-q", "--no-deps", "--no-index", *wheels)


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Environment]:
    return lambda **given: Environment(tmp_path / "venv", **given)


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A wheel that looks like Ray's."""
    made = tmp_path / "ray-2.61.0-py3-none-any.whl"
    files = {
        "ray/__init__.py": "__version__ = '2.61.0'\n",
        "ray/_raylet.so": "",
        "ray-2.61.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: ray\nVersion: 2.61.0\n",
        "ray-2.61.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in files) + "ray-2.61.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in {**files, "ray-2.61.0.dist-info/RECORD": record}.items():
            archive.writestr(name, text)
    return made


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
    said = made.pip("install", "--no-deps", "--no-index", real, status=1)
    assert "ray 2.60.0" in said and "eagleray-ray-compat" in said, said
    assert run(made.python, "-c", "import ray; print(ray.__version__)").stdout == "2.60.0\n"
