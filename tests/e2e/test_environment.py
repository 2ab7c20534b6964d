"""What of the driver's surroundings workers see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def test_variables_folder_and_paths_of_the_driver(script: Any, tmp_path: Any) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "from_pythonpath.py").write_text("VALUE = 'pythonpath'\n")
    (tmp_path / "beside_the_script.py").write_text("VALUE = 'beside'\nclass Thing:\n    n = 4\n")
    late = tmp_path / "late"
    late.mkdir()
    (late / "from_sys_path.py").write_text("VALUE = 'late'\n")
    path = os.pathsep.join(filter(None, [str(library), os.environ.get("PYTHONPATH")]))
    done = script(
        f"""
        import os, sys
        sys.path.append({str(late)!r})
        os.environ["SET_BEFORE_INIT"] = "yes"
        import eagleray as ray
        import beside_the_script
        ray.init(address="local", num_cpus=1)

        @ray.remote
        def look():
            import beside_the_script, from_pythonpath, from_sys_path
            return (os.environ["SET_BEFORE_INIT"], os.getcwd(), from_pythonpath.VALUE, from_sys_path.VALUE,
                    beside_the_script.VALUE, os.environ.get("PYTHONPATH"), sys.executable)

        @ray.remote
        def thing(t):
            return type(t), t.n

        found = ray.get(look.remote())
        here = os.getcwd(), os.environ.get("PYTHONPATH"), sys.executable
        assert found == ("yes", here[0], "pythonpath", "late", "beside", *here[1:]), found
        assert ray.get(thing.remote(beside_the_script.Thing())) == (beside_the_script.Thing, 4)
        print("good")
        """,
        env={**os.environ, "PYTHONPATH": path},
        cwd=library,
    )
    assert done.stdout == "good\n"


def test_variables_need_not_be_utf8(script: Any) -> None:
    source = """
    import os
    import eagleray as ray
    print(ray.get(ray.remote(lambda: os.environb[b"ODD"]).remote()))
    """
    assert script(source, env={**os.environ, "ODD": os.fsdecode(b"\xff\xfe")}).stdout == "b'\\xff\\xfe'\n"


def test_classes_of_the_script_itself(script: Any) -> None:
    done = script(
        """
        import dataclasses, enum
        import eagleray as ray

        @dataclasses.dataclass
        class Point:
            x: int

        class Colour(enum.Enum):
            RED = 1

        def helper(p):
            return Point(p.x + SHIFT)

        SHIFT = 5

        @ray.remote
        def move(p, colour):
            assert colour is Colour.RED
            return helper(p), {"again": p}, colour

        moved, back, colour = ray.get(move.remote(Point(1), Colour.RED))
        assert moved == Point(6) and isinstance(moved, Point) and back == {"again": Point(1)} and colour is Colour.RED
        print("good")
        """
    )
    assert done.stdout == "good\n"


def test_env_vars(ray: Any) -> None:
    @ray.remote
    def look(name: str) -> Any:
        return os.environ.get(name), ray.get_runtime_context().runtime_env.get("env_vars"), dict(os.environ)

    @ray.remote
    class A:
        def look(self, name: str) -> Any:
            return os.environ.get(name)

    environment = {"env_vars": {"COLOUR": "red"}}
    value, variables, everything = ray.get(look.options(runtime_env=environment).remote("COLOUR"))
    assert value == "red" and variables == {"COLOUR": "red"}
    assert not {"EAGLERAY_ENV_KEY", "EAGLERAY_RUNTIME_ENV", "EAGLERAY_DRIVER_PYTHONPATH"} & set(everything)
    assert ray.get(look.remote("COLOUR"))[0] is None
    assert ray.get(A.options(runtime_env=environment).remote().look.remote("COLOUR")) == "red"


def test_nested_tasks_inherit_env_vars(ray: Any) -> None:
    @ray.remote
    def inner() -> Any:
        return os.environ.get("A"), os.environ.get("B")

    @ray.remote(runtime_env={"env_vars": {"A": "1"}})
    def outer() -> Any:
        more = inner.options(runtime_env={"env_vars": {"B": "2"}})
        return ray.get([inner.remote(), more.remote()])

    assert ray.get(outer.remote(), timeout=60) == [("1", None), ("1", "2")]


def test_working_dir(ray: Any, tmp_path: Any) -> None:
    (tmp_path / "only_here.py").write_text("VALUE = 3\n")

    @ray.remote(runtime_env={"working_dir": str(tmp_path)})
    def look() -> Any:
        import only_here  # type: ignore[import-not-found]

        return only_here.VALUE, os.getcwd()

    assert ray.get(look.remote(), timeout=60) == (3, str(tmp_path))


def test_environments_that_cannot_be_made(ray: Any) -> None:
    def f() -> None: ...

    for wrong in ({"conda": "x"}, {"working_dir": "/no/such/folder"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ray.remote(f).options(runtime_env=wrong).remote()
    with pytest.raises(TypeError, match="env_vars"):
        ray.remote(f).options(runtime_env={"env_vars": {"a": 1}}).remote()


def test_variables_that_numba_reads_at_import(script: Any) -> None:
    pytest.importorskip("numba")
    done = script(
        """
        import os
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
        import numpy as np
        import eagleray as ray
        from numba import cuda
        ray.init(address="local", num_cpus=2, num_gpus=1)

        @cuda.jit
        def mul_two(array):
            i = cuda.grid(1)
            if i < array.size:
                array[i] *= 2

        @ray.remote(num_gpus=1)
        def on_device(array):
            device = cuda.to_device(array)
            mul_two[1, 32](device)
            return device.copy_to_host()

        print(list(ray.get(on_device.remote(np.arange(4.0)))))
        """,
        timeout=110,
    )
    assert (
        done.stdout == "[np.float64(0.0), np.float64(2.0), np.float64(4.0), np.float64(6.0)]\n" or "6.0" in done.stdout
    )


def test_numba_draws_different_numbers(ray: Any) -> None:
    numba = pytest.importorskip("numba")
    np = pytest.importorskip("numpy")

    @numba.njit  # type: ignore[untyped-decorator]
    def draw() -> float:
        return float(np.random.random())

    @ray.remote(max_calls=1)
    def in_worker() -> float:
        return draw()

    assert len(set(ray.get([in_worker.remote() for _ in range(3)], timeout=100))) == 3


def test_numbers_of_threads_follow_the_cpus(ray: Any) -> None:
    @ray.remote
    def threads() -> Any:
        return os.environ.get("OMP_NUM_THREADS")

    if "OMP_NUM_THREADS" in os.environ:
        pytest.skip("the variable is set here")
    assert ray.get(
        [threads.remote(), threads.options(num_cpus=3).remote(), threads.options(num_cpus=0.5).remote()]
    ) == ["1", "3", "1"]


def test_script_from_standard_input_and_interactive(tmp_path: Any) -> None:
    source = "import eagleray as ray\n@ray.remote\ndef f(x):\n    return x + 1\nprint(ray.get(f.remote(1)))\n"
    for command in ([sys.executable, "-"], [sys.executable, "-c", source]):
        done = subprocess.run(command, input=source, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.stdout == "2\n", done.stderr


def test_fork_in_the_driver_and_in_tasks(ray: Any) -> None:
    import multiprocessing

    context = multiprocessing.get_context("fork")

    @ray.remote
    def forks() -> Any:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return pool.map(abs, [-1, -2, -3])

    def child(queue: Any) -> None:
        try:
            ray.put(1)
            queue.put("worked")
        except RuntimeError as error:
            queue.put(str(error))

    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert "forked" in queue.get()
    process.join(20)
    assert process.exitcode == 0
    assert ray.get(forks.remote(), timeout=60) == [1, 2, 3]
    assert ray.get(ray.put(1)) == 1


def test_views_stay_readable_in_forks(ray: Any) -> None:
    np = pytest.importorskip("numpy")
    view = ray.get(ray.put(np.arange(1_000_000)))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if view.sum() == 499_999_500_000 else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_nothing_but_the_session_folder_is_written(ray: Any, session: Any) -> None:
    folder = Path(session["session_dir"])
    assert folder.stat().st_mode & 0o777 == 0o700 and folder.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("variables", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "x\0"}])
def test_variables_that_no_process_can_have_are_refused_at_the_call(ray: Any, variables: dict[str, str]) -> None:
    @ray.remote
    def runs() -> None: ...

    with pytest.raises(ValueError, match="no process can have it"):
        runs.options(runtime_env={"env_vars": variables}).remote()
