"""Hooks, interpreters and refusals of a runtime environment."""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path
from typing import Any

import eagleray
import pytest

pytestmark = pytest.mark.timeout(120)


def seen() -> Any:
    return os.environ.get("SET_BY_HOOK")


class Looker:
    def look(self) -> Any:
        return seen()


def test_a_function_is_called_in_each_worker(ray: Any) -> None:
    text = ["of the driver"]

    def hook() -> None:
        context = eagleray.get_runtime_context()
        os.environ["SET_BY_HOOK"] = f"{text[0]} {context.get_node_id() != ''} {eagleray.get(eagleray.put(5))}"

    env = {"worker_process_setup_hook": hook}
    assert ray.get(ray.remote(seen).options(runtime_env=env).remote()) == "of the driver True 5"
    assert ray.get(ray.remote(Looker).options(runtime_env=env).remote().look.remote()) == "of the driver True 5"
    assert ray.get(ray.remote(seen).remote()) is None and seen() is None
    text[0] = "changed"  # the function is another one now
    assert ray.get(ray.remote(seen).options(runtime_env=env).remote()) == "changed True 5"

    def outer() -> Any:
        named = eagleray.get_runtime_context().runtime_env["worker_process_setup_hook"]
        return eagleray.get(eagleray.remote(seen).remote()), named

    inner, named = ray.get(ray.remote(outer).options(runtime_env=env).remote())
    assert inner == "changed True 5" and named.endswith("hook")


def test_a_path_of_a_function(ray: Any, tmp_path: Path) -> None:
    source = "import os\ndef begin():\n    os.environ['SET_BY_HOOK'] = 'by path'\n"
    (tmp_path / "hooks_of_test.py").write_text(source)
    env = {"worker_process_setup_hook": "hooks_of_test.begin", "working_dir": str(tmp_path)}
    assert ray.get(ray.remote(seen).options(runtime_env=env).remote()) == "by path"


def fails() -> None:
    raise KeyError("the lost key")


def leaves() -> None:
    sys.exit(7)


@pytest.mark.parametrize(
    ("hook", "text"),
    [(fails, "KeyError: 'the lost key'"), (leaves, r"sys.exit\(7\)"), ("no_such_module.f", "No module named")],
)
def test_hooks_that_fail(ray: Any, hook: Any, text: str) -> None:
    env = {"worker_process_setup_hook": hook}
    name = hook if isinstance(hook, str) else hook.__name__
    for ref in (
        ray.remote(seen).options(runtime_env=env).remote(),
        ray.remote(Looker).options(runtime_env=env).remote().look.remote(),
    ):
        with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match=text) as caught:
            ray.get(ref, timeout=60)
        assert f"runtime_env['worker_process_setup_hook'] {name} failed" in str(caught.value)


def test_hooks_that_cannot_be_taken(ray: Any) -> None:
    ref = ray.put(1)
    for hook, error in ((3, TypeError), ("no_path", ValueError), ("a b.c", ValueError), (lambda: ref, ValueError)):
        with pytest.raises(error, match="worker_process_setup_hook"):
            ray.remote(seen).options(runtime_env={"worker_process_setup_hook": hook}).remote()


def interpreter() -> Any:
    return sys.executable, sys.flags.dont_write_bytecode, sys.prefix


def test_an_interpreter_with_arguments(ray: Any) -> None:
    task = ray.remote(interpreter)
    env = {"py_executable": f"{sys.executable} -B"}
    assert ray.get(task.options(runtime_env=env).remote()) == (sys.executable, 1, sys.prefix)
    assert ray.get(task.remote())[1] == sys.flags.dont_write_bytecode


def test_a_script_in_the_working_directory(ray: Any, tmp_path: Path) -> None:
    script = tmp_path / "run worker.sh"
    script.write_text(f'#!/bin/sh\nMARK=from_script exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    env = {"working_dir": str(tmp_path), "py_executable": "'./run worker.sh' -B"}
    task = ray.remote(lambda: (os.environ.get("MARK"), sys.flags.dont_write_bytecode, os.getcwd()))
    assert ray.get(task.options(runtime_env=env).remote()) == ("from_script", 1, str(tmp_path))


def test_an_interpreter_with_packages_of_its_own(ray: Any, tmp_path: Path) -> None:
    """Its own packages come first; of the program's interpreter only what Eagle Ray needs is there."""
    home = tmp_path / "other"
    venv.create(home, system_site_packages=False, symlinks=True)
    site = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (site / "only_there.py").write_text("VALUE = 8\n")
    env = {"py_executable": str(home / "bin" / "python")}
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="cannot run workers: No module named"):
        ray.get(ray.remote(interpreter).options(runtime_env=env).remote(), timeout=60)
    import cloudpickle
    import msgpack
    import numpy

    (site / "needed").mkdir()
    for module in (cloudpickle, msgpack, numpy):
        folder = Path(module.__path__[0])
        os.symlink(folder, site / folder.name)
    libraries = Path(numpy.__path__[0]).parent / "numpy.libs"
    if libraries.exists():
        os.symlink(libraries, site / libraries.name)

    def look() -> Any:
        import importlib.util

        import only_there  # type: ignore[import-not-found]

        return only_there.VALUE, sys.prefix, importlib.util.find_spec("pytest") is None

    env = {"py_executable": str(home / "bin" / "python"), "env_vars": {"A": "1"}}
    assert ray.get(ray.remote(look).options(runtime_env=env).remote(), timeout=60) == (8, str(home), True)


@pytest.mark.parametrize("field", ["conda", "container", "image_uri", "nsight", "_nsight", "rocprof_sys", "java_jars"])
def test_fields_that_are_refused(ray: Any, field: str) -> None:
    with pytest.raises(ValueError, match=f"{field}.*is not supported: "):
        ray.remote(seen).options(runtime_env={field: {"x": "y"}}).remote()


def test_fields_that_nobody_knows(ray: Any) -> None:
    with pytest.raises(ValueError, match=r"'workingdir' is not known \(did you mean 'working_dir'\?\)"):
        ray.remote(seen).options(runtime_env={"workingdir": "."}).remote()
    with pytest.raises(ValueError, match="has the key 'setup_timeout'"):
        ray.remote(seen).options(runtime_env={"config": {"setup_timeout": 1}}).remote()
    with pytest.raises(ValueError, match="both 'pip' and 'uv'"):
        ray.remote(seen).options(runtime_env={"pip": ["a"], "uv": ["b"]}).remote()
