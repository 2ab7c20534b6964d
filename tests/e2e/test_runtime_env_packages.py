"""``pip`` and ``uv`` of a runtime environment: virtual environments that nodes make."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import eagleray
import pytest
import wheels
from wheels import made, session_dir, version

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: Any) -> Path:
    return wheels.make_all(tmp_path_factory.mktemp("packages"))


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_only_the_task_has_its_packages(ray: Any, packages: Path, tool: str) -> None:
    def look() -> Any:
        import numpy
        import tiny_thing

        tool = subprocess.run(["tiny-thing-tool"], capture_output=True, text=True, check=True).stdout
        inside = tiny_thing.__file__.startswith(os.environ["VIRTUAL_ENV"] + os.sep)
        return tiny_thing.VERSION, tool, inside, sys.prefix == os.environ["VIRTUAL_ENV"], numpy.array([1, 2]).sum()

    env = wheels.offline(packages, "tiny_thing==1.0", tool=tool)
    before = made(session_dir())
    assert ray.get(ray.remote(look).options(runtime_env=env).remote()) == ("1.0", "1.0\n", True, True, 3)
    assert len(made(session_dir())) == len(before) + 1
    with pytest.raises(ModuleNotFoundError):
        ray.get(ray.remote(version).remote())


def test_children_inherit_and_replace(ray: Any, packages: Path) -> None:
    def outer(env: Any, uv: Any) -> Any:
        task = eagleray.remote(version)
        more = task.options(runtime_env={"env_vars": {"A": "1"}})
        other = task.options(runtime_env=env)
        with_uv = task.options(runtime_env=uv)
        seen = eagleray.get_runtime_context().runtime_env
        return eagleray.get([task.remote(), more.remote(), other.remote(), with_uv.remote()]), seen["uv"]["packages"]

    env = wheels.offline(packages, "tiny_thing==1.0", tool="uv")
    other, uv = wheels.offline(packages, "tiny_thing==2.0"), wheels.offline(packages, "tiny_thing==2.0", tool="uv")
    found, named = ray.get(ray.remote(outer).options(runtime_env=env).remote(other, uv))
    assert found == ["1.0", "1.0", "2.0", "2.0"] and named == ["tiny_thing==1.0"]


def test_requirements_in_files(ray: Any, packages: Path, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    lines = f"--no-index\n--find-links {packages}\n# a remark\n\ntiny_thing=="
    file.write_text(lines + "1.0\n")
    task = ray.remote(version)
    assert ray.get(task.options(runtime_env={"pip": str(file)}).remote()) == "1.0"
    file.write_text(lines + "2.0\n")  # the file is read again
    assert ray.get(task.options(runtime_env={"pip": str(file)}).remote()) == "2.0"
    assert ray.get(task.options(runtime_env={"pip": {"packages": str(file), "pip_check": False}}).remote()) == "2.0"
    of_folder = {"working_dir": str(tmp_path), "pip": ["-r ${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}/requirements.txt"]}
    assert ray.get(task.options(runtime_env=of_folder).remote()) == "2.0"


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_packages_that_cannot_be_had(ray: Any, packages: Path, tool: str) -> None:
    env = wheels.offline(packages, "no_such_package==7", tool=tool)

    class Thing:
        def version(self) -> Any: ...

    actor = ray.remote(Thing).options(runtime_env=env).remote()
    for ref in (ray.remote(version).options(runtime_env=env).remote(), actor.version.remote()):
        with pytest.raises(ray.exceptions.RuntimeEnvSetupError) as caught:
            ray.get(ref, timeout=60)
        text = str(caught.value)
        assert f"runtime_env['{tool}'] asks for no_such_package==7" in text
        assert "no-such-package" in text.replace("_", "-").split("asks for")[0], "the tool's output is missing"
        assert f"installing with {tool} failed" in text
    broken = [path for path in made(session_dir()) if not glob.glob(f"{path}/lib/python*/site-packages/tiny_thing*")]
    assert broken == []


def test_conflicts_are_found_by_pip_check(ray: Any, packages: Path) -> None:
    env = wheels.offline(packages, "tiny_wrong==1.0", pip_check=True)
    env["pip"]["pip_install_options"] += ["--no-deps"]
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match=r"pip_check.*\n?.*no.such.package"):
        ray.get(ray.remote(version).options(runtime_env=env).remote(), timeout=60)


def test_eagle_ray_itself_is_not_replaced(ray: Any, packages: Path) -> None:
    wheels.make(packages, "eagleray", "9.9", files={"eagleray/__init__.py": "WRONG = 1\n"})
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="the packages install Eagle Ray at"):
        env = wheels.offline(packages, "eagleray==9.9")
        env["pip"]["pip_install_options"] += ["--ignore-installed"]
        ray.get(ray.remote(version).options(runtime_env=env).remote(), timeout=60)
