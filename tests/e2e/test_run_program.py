"""``eagleray run``: a program for Ray runs unchanged, with nothing but this package installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from eagleray._private.tools import run_program
from eagleray.cluster_utils import Cluster

EAGLERAY = [sys.executable, "-c", "from eagleray._private.cli import main; main()"]
SHOW = """
    import json, os, sys
    main = sys.modules["__main__"]
    print(json.dumps([sys.argv, sys.path[0], __name__, main.__file__, main.__spec__ and main.__spec__.name,
                      main.__package__, sys.flags.optimize, os.getcwd()]))
"""


def write(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(source))
    return path


def command(words: list[str], folder: Path, ours: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*EAGLERAY, "run", *words] if ours else [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["show.py", "a", "--b"],
        ["-O", "folder/../show.py"],
        ["linked.py"],
        ["-m", "package.inner", "-x", "1"],
        ["-Bm", "package"],
        ["-W", "ignore", "-Xutf8", "-O", "-m", "show"],
        ["archive", "1"],
    ],
)
def test_the_program_sees_what_python_shows_it(words: list[str], tmp_path: Path) -> None:
    write(tmp_path, "show.py", SHOW)
    (tmp_path / "folder").mkdir()
    write(tmp_path, "elsewhere/linked.py", SHOW)
    (tmp_path / "linked.py").symlink_to("elsewhere/linked.py")
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/__main__.py", SHOW)
    write(tmp_path, "package/inner.py", SHOW)
    write(tmp_path, "archive/__main__.py", SHOW)
    plain, ours = (command(words, tmp_path, ours) for ours in (False, True))
    assert plain.stdout and (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, "", 0)


ENDS = {
    "import sys; sys.exit(7)": 7,
    "import sys; sys.exit('a reason')": 1,
    "raise ValueError('a reason')": 1,
    "import os; os._exit(9)": 9,
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)": -signal.SIGTERM,
}


@pytest.mark.parametrize("program", ENDS)
def test_the_end_is_the_program_s(program: str, tmp_path: Path) -> None:
    plain, ours = (command(["-c", program], tmp_path, ours) for ours in (False, True))
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)
    assert ours.returncode == ENDS[program]


def test_ctrl_c_reaches_the_program(tmp_path: Path) -> None:
    program = "import time\ntry:\n print('ready', flush=True)\n time.sleep(60)\nexcept KeyboardInterrupt:\n exit(3)"
    words = [*EAGLERAY, "run", "-c", program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stdout is not None and running.stdout.readline() == "ready\n"
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(30) == 3


PROGRAM = """
    import importlib.metadata, os, subprocess, sys
    assert importlib.metadata.version("ray") == "2.60.0"
    import ray
    import ray.util.queue
    from ray.exceptions import RayTaskError
    assert ray.__version__ == "2.60.0" and "eagleray" in ray.__file__

    class Marked(Exception): ...

    @ray.remote
    def inner(queue):
        import ray as again
        queue.put(again.get_runtime_context().get_node_id())
        raise Marked("inside")

    @ray.remote
    class Outer:
        def run(self, queue):
            import eagleray, ray.util.queue
            assert isinstance(queue, ray.util.queue.Queue) and ray.remote is eagleray.remote
            try:
                ray.get(inner.options(**HERE).remote(queue))
            except RayTaskError as error:
                return type(error).__name__, isinstance(error, Marked), importlib.metadata.version("ray")

    HERE = {"resources": {os.environ["WANTED"]: 1}} if "WANTED" in os.environ else {}
    ray.init(log_to_driver=False)
    queue = ray.util.queue.Queue()
    print(ray.get(Outer.options(**HERE).remote().run.remote(queue)))
    print("elsewhere" if queue.get() != ray.get_runtime_context().get_node_id() else "here")
    child = "import ray; print(ray.__version__)"
    print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout, end="")
    assert "EAGLERAY_ALIAS" not in ray.get(ray.remote(lambda: dict(os.environ)).remote())
"""
PRINTED = "('RayTaskError(Marked)', True, '2.60.0')\n{}\n2.60.0\n"


def test_drivers_workers_and_children_have_the_name(tmp_path: Path) -> None:
    # A real Ray beside it is not used.
    write(tmp_path, "site/ray/__init__.py", "raise ImportError('the other package was imported')")
    write(tmp_path, "program.py", PROGRAM)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    env.pop("WANTED", None)
    words = [*EAGLERAY, "run", "program.py"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == PRINTED.format("here")


def test_workers_of_other_nodes_have_the_name(tmp_path: Path) -> None:
    write(tmp_path, "program.py", PROGRAM)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=2, resources={"there": 2})
        env = {**os.environ, "RAY_ADDRESS": cluster.address, "WANTED": "there"}
        words = [*EAGLERAY, "run", "program.py"]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout == PRINTED.format("elsewhere")
    finally:
        cluster.shutdown()


def test_workers_need_no_folder_for_the_name(tmp_path: Path) -> None:
    """The folder that brings the name to the program does not have to be on the worker's machine."""
    program = """
        import sys, ray, eagleray
        sys.path.remove(next(path for path in sys.path if path.endswith("ray_name")))

        @eagleray.remote
        def name():
            import ray.exceptions
            return ray.__version__, ray.exceptions is eagleray.exceptions, ray.__file__ == eagleray.__file__

        print(eagleray.get(name.remote()))
    """
    done = command([str(write(tmp_path, "program.py", program))], tmp_path)
    assert done.stdout == "('2.60.0', True, True)\n", done.stderr


PROBLEMS = {
    (): "there is no script to run",
    ("-u",): "there is no script to run",
    ("-m",): "-m needs the module to run",
    ("-Oc",): "-c needs the program to run",
    ("--",): "there is no script",
    ("-I", "x.py"): "with -I the interpreter would ignore PYTHONPATH",
    ("-uE", "x.py"): "with -uE the interpreter would ignore PYTHONPATH",
    ("--address=x", "x.py"): "unknown flag '--address=x': flags of the program itself come after the script",
}


@pytest.mark.parametrize("words", PROBLEMS)
def test_what_names_no_program_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program.main(words) == 2
    out, text = capsys.readouterr()
    assert (
        text.startswith(f"eagleray run: {PROBLEMS[words]}") and text.endswith("see eagleray run --help\n") and not out
    )


def test_help_shows_the_forms(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program.main(["--help"]) == 0
    assert "eagleray run [flags of python] -m MODULE" in capsys.readouterr().out


def test_the_metadata_has_the_version_of_the_api() -> None:
    from eagleray._private import alias_metadata, ray_name
    from eagleray._version import API_VERSION

    file = Path(ray_name.__file__).parent / "ray.dist-info" / "METADATA"
    assert file.read_text() == alias_metadata.RayDistribution().read_text("METADATA")
    assert alias_metadata.RayDistribution().version == API_VERSION
