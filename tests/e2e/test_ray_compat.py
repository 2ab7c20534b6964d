"""``python/ray_compat``: `import ray` gives the modules of eagleray themselves.

The cases run in a process of their own on a small package called eagleray, so that they show the import system only.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

COMPAT = Path(__file__).parents[2] / "python" / "ray_compat"
PACKAGE = Path(__file__).parents[2] / "python" / "eagleray"
FILES = {
    "__init__.py": "__version__ = '0'; __all__ = ['remote']; remote = 1",
    "_version.py": (PACKAGE / "_version.py").read_text(),
    **{
        f"_private/{name}": (PACKAGE / "_private" / name).read_text()
        for name in (
            *("alias.py", "alias_metadata.py", "missing.py", "ray_name/__init__.py", "libraries/__init__.py"),
            *("libraries/finder.py", "libraries/cache.py", "libraries/releases.py"),
        )
    },
    "exceptions.py": "class TaskError(Exception): pass",
    "util/__init__.py": (PACKAGE / "util" / "__init__.py").read_text(),
    "util/accelerators.py": (PACKAGE / "util" / "accelerators.py").read_text(),
    "util/scheduling_strategies.py": (PACKAGE / "util" / "scheduling_strategies.py").read_text(),
    "util/queue.py": "from .. import remote\nclass Queue: pass",
}
CASES = {
    "same modules": """
        import ray.util.queue as queue, ray, ray.exceptions, sys, eagleray
        from ray.exceptions import TaskError
        assert ray.util is eagleray.util and ray.remote is eagleray.remote and dir(ray) == dir(eagleray)
        ray.remote = 2
        assert eagleray.remote == 2
        del ray.remote
        assert not hasattr(eagleray, "remote") and not hasattr(ray, "remote")
        assert queue is eagleray.util.queue is sys.modules["eagleray.util.queue"]
        assert ray.exceptions is sys.modules["eagleray.exceptions"]
    """,
    "real module untouched": """
        import ray.util.queue, importlib, pickle
        queue = ray.util.queue
        assert queue.__spec__.name == "eagleray.util.queue"
        assert pickle.loads(pickle.dumps(queue.Queue)) is queue.Queue
        assert importlib.reload(queue) is queue
    """,
    "what is not there": """
        import importlib.util, ray
        assert importlib.util.find_spec("ray.nothing") is None
        try:
            import ray.nothing
        except ModuleNotFoundError as error:
            assert error.name == "ray.nothing"
        else:
            raise AssertionError
    """,
    "the version is that of Ray": """
        import importlib.metadata, pickle, ray, eagleray
        assert importlib.metadata.version("ray") == ray.__version__ == "2.60.0" != eagleray.__version__
        assert importlib.metadata.metadata("ray")["Name"] == "ray" and importlib.metadata.files("ray") is None
        assert pickle.loads(pickle.dumps(ray)) is ray
    """,
    "parts of Ray that are not there": """
        import importlib.util, ray
        programs = [
            "import ray.data", "import ray.data.dataset", "from ray import tune", "from ray.data import Dataset",
            "from ray.train.torch import TorchTrainer",
            "import ray.serve",
            "import ray.util.tracing", "from ray.util.rpdb import set_trace",
            "import ray.util.horovod as horovod", "from ray.util import spark",
            "from ray.util.accelerators import tpu", "def f():\\n from ray import rllib as r\\nf()",
            "; ".join(f"v{i} = {i}" for i in range(400)) + "; from ray import data",
        ]
        for program in programs:
            try:
                exec(program)
            except ModuleNotFoundError as error:
                text = str(error)
                assert text.startswith("Eagle Ray ") and " has no ray." in text and text.count(". ") == 0, text
                assert error.name.startswith("ray."), error.name
            else:
                raise AssertionError(program)
        assert importlib.util.find_spec("ray.data") is None
    """,
    "attributes that are not there": """
        import inspect, ray, ray.util.accelerators, ray.util.scheduling_strategies
        inspect.getmembers(ray)
        for owner, names in {
            ray: ["data", "tune", "serve", "java_function", "client"],
            ray.util: ["rpdb", "spark", "xgboost"],
            ray.util.scheduling_strategies: [],
            ray.util.accelerators: ["tpu"],
        }.items():
            where = owner.__name__.replace("eagleray", "ray")
            for name in names:
                assert not hasattr(owner, name) and getattr(owner, name, 7) == 7, name
                try:
                    getattr(owner, name)
                except AttributeError as error:
                    assert str(error).startswith("Eagle Ray ") and f" has no {where}.{name} (" in str(error), error
                else:
                    raise AssertionError(name)
            try:
                owner.nothing
            except AttributeError as error:
                assert str(error) == f"module {where!r} has no attribute 'nothing'", error
    """,
    "messages name the package that the program wrote": """
        import ray
        for text, name in [
            ("import ray.util; ray.util.spark", "ray"),
            ("import eagleray.util; eagleray.util.spark", "eagleray"),
            ("import eagleray.util, eagleray as ray\\ndef f(): ray.util.spark\\nf()", "eagleray"),
            ("import ray\\ndef f(): ray.util.spark\\nf()", "ray"),
            ("import ray\\ndef f():\\n from ray.util import spark\\nf()", "ray"),
            ("from eagleray.util import spark", "eagleray"),
        ]:
            try:
                exec(text, {})
            except (AttributeError, ModuleNotFoundError) as error:
                assert f" has no {name}.util.spark (" in str(error), (text, error)
            else:
                raise AssertionError(text)
    """,
    "visible devices as in Ray": """
        import os, ray
        assert os.environ["EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] == "0"
    """,
}


@pytest.mark.parametrize("case", CASES)
def test_import_ray(case: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        file = tmp_path / "eagleray" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{COMPAT}", "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", None)
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(CASES[case])], env=env, check=True, timeout=30)


def test_without_eagleray(tmp_path: Path) -> None:
    (tmp_path / "eagleray" / "__pycache__").mkdir(parents=True)  # what an uninstallation may leave
    for program in ("import ray", "import eagleray_ray_command as c; c.main()"):
        env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{COMPAT}"}
        # Without the environment's own packages, of which this package is one.
        done = subprocess.run(
            [sys.executable, "-S", "-c", program], env=env, capture_output=True, text=True, timeout=30
        )
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1 and "eagleray-ray-compat" in last and "install eagleray" in last


def test_real_ray_in_the_same_folder(tmp_path: Path) -> None:
    package = tmp_path / "ray"
    shutil.copytree(COMPAT / "ray", package)
    (package / "_raylet.so").touch()  # what pip leaves when it installs one distribution over the other
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", "import ray"], env=env, capture_output=True, text=True, timeout=30)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: Ray itself and eagleray-ray-compat are both installed in " + str(package))
    assert "Run `pip uninstall eagleray-ray-compat`, then `pip uninstall ray`" in last


def test_missing_parts_under_our_own_name() -> None:
    import eagleray

    programs = ("import eagleray.data", "from eagleray import tune", "from eagleray.util import spark")
    for program in (*programs, "from eagleray.util.accelerators import tpu"):
        with pytest.raises(ModuleNotFoundError, match=r"^Eagle Ray .* has no eagleray\.\S+ \(.+\): .+\.$"):
            exec(program)
    assert not hasattr(eagleray, "nothing") and not hasattr(eagleray, "data")
    with pytest.raises(AttributeError, match=r"^Eagle Ray .* has no eagleray\.data \(.+\): .+\.$"):
        _ = eagleray.data
    assert importlib.util.find_spec("eagleray.data") is None


NAMES = ("ClientBuilder", "Language", "client", "cpp_function", "java_function")


@pytest.mark.parametrize("name", NAMES)
def test_public_names_of_ray_that_are_missing_say_what_to_do(name: str) -> None:
    import eagleray

    with pytest.raises(AttributeError, match=rf"^Eagle Ray .* has no eagleray\.{name} \(.+\): .+\.$"):
        getattr(eagleray, name)
    with pytest.raises(ModuleNotFoundError, match=rf"^Eagle Ray .* has no eagleray\.{name} \(.+\): .+\.$"):
        exec(f"from eagleray import {name}")


def test_names_of_private_modules_that_libraries_import() -> None:
    program = """
        import ray
        from ray._private.services import get_node_ip_address
        import ray._private.services as services
        assert services.get_node_ip_address is get_node_ip_address is ray.util.get_node_ip_address
        assert get_node_ip_address("127.0.0.1:6379") == get_node_ip_address("127.0.0.1") == "127.0.0.1"
        assert get_node_ip_address().count(".") == 3
        """
    path = os.pathsep.join([str(PACKAGE.parent), str(COMPAT)])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env={**os.environ, "PYTHONPATH": path}, timeout=120
    )
    assert done.returncode == 0


PLACEMENT_GROUP = {
    "the function first": """
        import importlib, pickle, sys, ray, ray.util
        function = ray.util.placement_group
        assert callable(function) and function.__name__ == "placement_group"
        from ray.util.placement_group import PlacementGroup, PlacementGroupSchedulingStrategy, placement_group
        assert placement_group is function is ray.util.placement_group and PlacementGroup is ray.util.PlacementGroup
        from ray.util import placement_group as again
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy as same
        assert again is function and same is PlacementGroupSchedulingStrategy
        module = importlib.import_module("ray.util.placement_group")
        assert module is sys.modules["ray.util.placement_group"] is sys.modules["eagleray.util.placement_group"]
        assert module.placement_group is pickle.loads(pickle.dumps(function)) is function
        import cloudpickle
        for module in (ray, ray.util):
            assert pickle.loads(cloudpickle.dumps(lambda: module))() is module
    """,
    "the module first": """
        import ray.util.placement_group as first
        from ray.util.placement_group import remove_placement_group
        import ray
        assert first is ray.util.placement_group and first.__name__ == "placement_group"
        assert remove_placement_group is ray.util.remove_placement_group
    """,
}


@pytest.mark.parametrize("case", PLACEMENT_GROUP)
def test_placement_group_is_a_function_and_a_module(case: str) -> None:
    path = os.pathsep.join([str(PACKAGE.parent), str(COMPAT)])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PLACEMENT_GROUP[case])],
        env={**os.environ, "PYTHONPATH": path},
        timeout=120,
    )
    assert done.returncode == 0
