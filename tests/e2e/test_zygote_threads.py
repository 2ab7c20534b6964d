"""Libraries and hooks of the interpreter's start that leave threads in zygotes, which cannot be forked then."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: What stands for a library's thread that never ends.
FOREVER = """
    import threading, time

    def watch():
        while True:
            time.sleep(3600)

    threading.Thread(target=watch, name="watcher", daemon=True).start()
"""
#: One that is no thread of Python's, as jemalloc's in pyarrow.
NATIVE = """
    import ctypes

    libc = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(handle), None, libc.pause, None) == 0
    libc.pthread_setname_np(handle, b"native_watcher")
"""
SHORT = """
    import threading, time

    threading.Thread(target=time.sleep, args=(0.05,)).start()
"""
AT_FORK = """
    import os, threading, time

    def begin():
        threading.Thread(target=time.sleep, args=(3600,), name="begun at a fork", daemon=True).start()

    os.register_at_fork(after_in_parent=begin)
"""
PROGRAM = """
    import os, sys, threading
    import eagleray as ray
    {first}
    ray.init(address="local", num_cpus=2)

    def look():
        return os.getpid(), sys.flags.no_site, sorted(thread.name for thread in threading.enumerate())

    class Looker:
        def look(self):
            return look()

    found = [ray.get(ray.remote(look).remote())]
    environment = {{"env_vars": {{"OMP_NUM_THREADS": "1"}}}}  # libraries read it when they are imported: a bare zygote
    for given in (None, environment):
        for _ in range(3):
            actor = ray.remote(num_cpus=0)(Looker).options(runtime_env=given).remote()
            found.append(ray.get(actor.look.remote(), timeout=60))
            del actor
    print(found)
"""


@pytest.fixture
def run(script: Any, tmp_path: Path) -> Callable[..., tuple[list[Any], list[str]]]:
    """Runs the program with modules that it finds. Returns what workers saw, and the runtime's notes about threads."""

    def start(first: str = "", **modules: str) -> tuple[list[Any], list[str]]:
        library = tmp_path / "library"
        library.mkdir()
        for name, source in modules.items():
            (library / f"{name}.py").write_text(textwrap.dedent(source))
        path = os.pathsep.join(filter(None, [str(library), os.environ.get("PYTHONPATH")]))
        done = script(PROGRAM.format(first=first), env={**os.environ, "PYTHONPATH": path, "RAY_DEDUP_LOGS": "0"})
        assert "Error" not in done.stderr and "failed" not in done.stderr, done.stderr
        return eval(done.stdout.splitlines()[-1]), [line for line in done.stderr.splitlines() if "thread" in line]

    return start


@pytest.mark.parametrize("way", ["sitecustomize", "pth"])
@pytest.mark.parametrize(("source", "name"), [(FOREVER, "'watcher' of sitecustomize"), (NATIVE, "'native_watcher'")])
def test_a_hook_that_leaves_a_thread_runs_in_each_worker(
    run: Any, tmp_path: Path, way: str, source: str, name: str
) -> None:
    if way == "pth":
        (tmp_path / "hooks").mkdir()
        (tmp_path / "hooks" / "a_hook.py").write_text(textwrap.dedent(source))
        (tmp_path / "hooks" / "hook.pth").write_text("import a_hook\n")
        source, name = (
            f"import site\nsite.addsitedir({str(tmp_path / 'hooks')!r})\n",
            name.replace("sitecustomize", "a_hook"),
        )
    found, notes = run(sitecustomize=source)
    assert len({pid for pid, _, _ in found}) >= 6
    assert source is NATIVE or "native" in name or all("watcher" in names for _, _, names in found), found
    assert len(notes) == 1 and name in notes[0] and "The interpreter's start" in notes[0], notes


@pytest.mark.parametrize("hook", [False, True])
def test_a_thread_that_ends_is_waited_for(run: Any, hook: bool) -> None:
    found, notes = run(sitecustomize=SHORT) if hook else run("import pandas", pandas=SHORT)
    assert notes == [] and not any(no_site for _, no_site, _ in found)


@pytest.mark.parametrize(("source", "name"), [(FOREVER, "'watcher' of pandas"), (NATIVE, "'native_watcher'")])
def test_a_module_that_leaves_a_thread_is_not_imported_ahead(run: Any, source: str, name: str) -> None:
    found, notes = run("import pandas", pandas=source)
    assert not any(no_site or "watcher" in names for _, no_site, names in found)
    assert len(notes) == 1 and "Importing pandas leaves a thread: " + name in notes[0], notes


@pytest.mark.parametrize("hook", [False, True])
def test_a_thread_that_begins_at_a_fork(run: Any, hook: bool) -> None:
    found, notes = run(sitecustomize=AT_FORK) if hook else run("import pandas", pandas=AT_FORK)
    assert len({pid for pid, _, _ in found}) >= 6
    assert notes and all("'begun at a fork'" in note for note in notes), notes


def test_a_hook_that_fails_in_workers_is_told_by_them_only(script: Any, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        textwrap.dedent(FOREVER) + "import os\nif os.getppid() != 1 and 'EAGLERAY_JOB_ID' in os.environ:\n    1 / 0\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    source = """
    import eagleray as ray
    ray.init(address="local", num_cpus=1)
    print(ray.get(ray.remote(lambda: "good").remote(), timeout=60))
    """
    assert script(source, env={**os.environ, "PYTHONPATH": path}).stdout == "good\n"


def test_libraries_are_held_to_one_thread_while_hooks_run(script: Any, tmp_path: Path) -> None:
    """What they read is there for the interpreter's start, not for users: numpy's and pyarrow's threads are meant."""
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, os\nbuiltins.seen = {name: os.environ.get(name) for name in"
        " ('OPENBLAS_NUM_THREADS', 'JE_ARROW_MALLOC_CONF', 'MKL_NUM_THREADS')}\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = {name: text for name, text in os.environ.items() if name != "JE_ARROW_MALLOC_CONF"}
    done = script(
        """
        import builtins, os
        import eagleray as ray

        @ray.remote
        def look():
            return builtins.seen, {name: os.environ.get(name) for name in builtins.seen}

        ray.init(address="local", num_cpus=1)
        at_start, now = ray.get(look.remote())
        assert at_start["JE_ARROW_MALLOC_CONF"] == "background_thread:false" and at_start["OPENBLAS_NUM_THREADS"] == "1"
        assert at_start["MKL_NUM_THREADS"] == "3"
        assert now == {name: os.environ.get(name) for name in now}, now
        """,
        env={**environment, "PYTHONPATH": path, "MKL_NUM_THREADS": "3"},
    )
    assert done.returncode == 0
