"""When virtual environments of a runtime environment are made, shared and removed: sessions and nodes of their own."""

from __future__ import annotations

import glob
import os
import socket
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
import wheels
from eagleray.cluster_utils import Cluster
from pace import until
from wheels import made, makers, session_dir, version

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: Any) -> Path:
    return wheels.make_all(tmp_path_factory.mktemp("packages"))


def test_many_tasks_at_once_make_one_environment(fresh: Any, packages: Path) -> None:
    fresh.init(address="local", num_cpus=4)

    class Thing:
        def version(self) -> Any:
            return version()

    env = wheels.offline(packages, "tiny_thing==2.0")
    task = fresh.remote(version).options(runtime_env=env)
    actor = fresh.remote(Thing).options(runtime_env=env, num_cpus=0).remote()
    refs = [task.remote() for _ in range(50)] + [actor.version.remote()]
    assert set(fresh.get(refs, timeout=60)) == {"2.0"}
    assert len(made(session_dir())) == 1
    assert len(glob.glob(f"{session_dir()}/logs/runtime_env_setup-*.log")) == 1
    folder = session_dir()
    fresh.shutdown()
    assert not os.path.exists(f"{folder}/environments")


def test_the_job_s_environment_is_made_at_once_unless_it_is_lazy(fresh: Any, packages: Path) -> None:
    env = wheels.offline(packages, "tiny_thing==1.0", tool="uv")
    fresh.init(address="local", num_cpus=1, runtime_env=env)
    folder = session_dir()
    until(lambda: made(folder), "the environment is made without a task")
    assert fresh.get(fresh.remote(version).remote()) == "1.0"
    fresh.shutdown()
    fresh.init(address="local", num_cpus=1, runtime_env={**env, "config": {"eager_install": False}})
    assert not made(session_dir())
    assert fresh.get(fresh.remote(version).remote()) == "1.0"
    assert len(made(session_dir())) == 1


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    os.environ["RAY_RUNTIME_ENV_UV_CACHE_SIZE_GB"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "resources": {"a": 1}})
    try:
        yield cluster, cluster.head_node, cluster.add_node(num_cpus=2, resources={"b": 1})
    finally:
        del os.environ["RAY_RUNTIME_ENV_UV_CACHE_SIZE_GB"]
        cluster.shutdown()


def test_each_node_makes_its_own_and_drops_it_when_it_is_unused(nodes: Any, packages: Path) -> None:
    cluster, head, there = nodes
    here = {"num_cpus": 0.01, "resources": {"a": 0.01}}
    far = {"num_cpus": 0.01, "resources": {"b": 0.01}}
    ray = eagleray
    ray.init(address=cluster.address, log_to_driver=False)
    try:

        def outer(back: Any) -> Any:
            inner = eagleray.remote(version).options(**back)
            return version(), sys.prefix, eagleray.get(inner.remote())

        env = wheels.offline(packages, "tiny_user==1.0", tool="uv")
        found, prefix, inner = ray.get(ray.remote(outer).options(runtime_env=env, **far).remote(here), timeout=60)
        assert (found, inner) == ("1.0", "1.0") and prefix.startswith(there.session_dir)
        assert len(made(head.session_dir)) == 1 and len(made(there.session_dir)) == 1
    finally:
        ray.shutdown()
    until(lambda: not made(head.session_dir) and not made(there.session_dir), "environments above the cap are removed")


def test_archives_and_requirements_of_the_program_reach_other_nodes(nodes: Any, packages: Path, tmp_path: Path) -> None:
    cluster, _, there = nodes
    far = {"num_cpus": 0.01, "resources": {"b": 0.01}}
    requirements = f"--no-index\n--find-links {packages}\ntiny_thing==2.0\n"
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("data.txt", "of the program")
        archive.writestr("requirements.txt", requirements)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "requirements.txt").write_text(requirements.replace("2.0", "1.0"))
    wheel = wheels.make(tmp_path, "only_a_module", "4.0")

    def look() -> Any:
        import only_a_module  # type: ignore[import-not-found]

        with open("data.txt") as file:
            return file.read(), only_a_module.VERSION, version(), os.getcwd().startswith(there.session_dir)

    def outer() -> Any:
        return eagleray.get(eagleray.remote(look).options(**far).remote(), timeout=60)

    wanted = ["-r ${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}/requirements.txt"]
    env = {"working_dir": str(tmp_path / "code.zip"), "py_modules": [str(wheel)], "pip": wanted}
    eagleray.init(address=cluster.address, log_to_driver=False, runtime_env=env)
    try:
        (tmp_path / "code.zip").unlink()
        assert outer() == ("of the program", "4.0", "2.0", True)
        assert eagleray.get(eagleray.remote(outer).options(**far).remote(), timeout=60) == outer()
        of_folder = eagleray.remote(version).options(
            runtime_env={"working_dir": str(tmp_path / "folder"), "pip": wanted}, **far
        )
        assert eagleray.get(of_folder.remote(), timeout=60) == "1.0"
    finally:
        eagleray.shutdown()


@pytest.mark.parametrize("end", ["the program ends", "the daemon is killed"])
def test_what_is_being_made_ends_with_its_session(script: Any, end: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it answers nobody
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}/code.zip"
        program = f"""
        import os, signal
        import eagleray as ray
        from wheels import makers, session_dir
        from pace import until
        ray.init(address="local", num_cpus=1, runtime_env={{"working_dir": {uri!r}}})
        folder = session_dir()
        until(lambda: makers(folder), "the environment is being made")
        print(folder, flush=True)
        if {end!r} == "the daemon is killed":
            os.kill(ray._private.state.process.session.daemon_pid, signal.SIGKILL)
            os._exit(0)
        """
        here = os.pathsep.join((os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__))))
        folder = script(program, env={**os.environ, "PYTHONPATH": here}).stdout.strip()
        until(lambda: not makers(folder), "the program that makes it has ended")
        assert end != "the program ends" or not os.path.exists(folder)


def test_a_site_changes_the_environment_of_programs(script: Any, tmp_path: Path) -> None:
    (tmp_path / "of_the_site.py").write_text(
        "def change(env):\n    return {**env, 'env_vars': {'SITE': 'yes', **env.get('env_vars', {})}}\n"
    )
    program = """
    import os
    import eagleray as ray
    ray.init(address="local", num_cpus=1, runtime_env={"env_vars": {"A": "1"}})
    print(ray.get(ray.remote(lambda: (os.environ["SITE"], os.environ["A"])).remote()))
    """
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "RAY_RUNTIME_ENV_HOOK": "of_the_site.change"}
    assert script(program, env=env).stdout == "('yes', '1')\n"
    skipping = program.replace("num_cpus=1", "num_cpus=1, _skip_env_hook=True").replace('["SITE"]', '.get("SITE")')
    done = script(skipping, env=env)
    assert done.stdout == "(None, '1')\n" and "_skip_env_hook" not in done.stderr
    for wrong in ("of_the_site.no", "nowhere.change", "change"):
        done = script(program, env={**env, "RAY_RUNTIME_ENV_HOOK": wrong}, check=False)
        assert (
            "the variable RAY_RUNTIME_ENV_HOOK must be the path of a function" in done.stderr and wrong in done.stderr
        )


@pytest.mark.slow
def test_packages_from_the_index(fresh: Any) -> None:
    fresh.init(address="local", num_cpus=2)

    def look() -> Any:
        import six  # type: ignore[import-not-found, import-untyped, unused-ignore]

        return six.__version__, six.__file__.startswith(sys.prefix)

    for tool in ("pip", "uv"):
        task = fresh.remote(look).options(runtime_env={tool: ["six==1.16.0"]})
        assert fresh.get(task.remote(), timeout=100) == ("1.16.0", True)
    with_version = {"uv": {"packages": ["six==1.16.0"], "uv_version": ">=0.4", "uv_check": True}}
    assert fresh.get(fresh.remote(look).options(runtime_env=with_version).remote(), timeout=100)[0] == "1.16.0"
    pinned = {"pip": {"packages": ["six==1.16.0"], "pip_version": "==23.3.2", "pip_check": False}}
    assert fresh.get(fresh.remote(look).options(runtime_env=pinned).remote(), timeout=100)[0] == "1.16.0"
