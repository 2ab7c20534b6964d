"""``python/ray_compat``: `import ray` gives the modules of eagleray themselves.

The cases run in a process of their own on a small package called eagleray, so that they show the import system only.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

COMPAT = Path(__file__).parents[2] / "python" / "ray_compat"
FILES = {
    "__init__.py": "remote = 1",
    "exceptions.py": "class TaskError(Exception): pass",
    "util/__init__.py": "from . import queue",
    "util/queue.py": "from .. import remote\nclass Queue: pass",
}
CASES = {
    "same modules": """
        import ray.util.queue as queue, ray, ray.exceptions, sys, eagleray
        from ray.exceptions import TaskError
        assert ray is eagleray
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
