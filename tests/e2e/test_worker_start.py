"""How workers begin: Go starts in them and not in their zygote, and they share what they can with it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pace import until

LOCAL: dict[str, Any] = {"address": "local", "num_cpus": 2, "log_to_driver": False}


def private_mb(pid: int) -> float:
    """The memory of a process that nobody shares."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private_")) / 1024


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def workers_of(zygote: int) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and parent_of(int(entry.name)) == zygote:
                found.add(int(entry.name))
        except OSError:  # ended meanwhile
            continue
    return found


def test_a_worker_has_few_pages_of_its_own() -> None:
    """The driver is a program of its own: its zygote imports what it has imported, and each library costs pages."""
    pytest.importorskip("numpy")
    source = """
        import os
        import numpy
        import eagleray

        @eagleray.remote(num_cpus=0)
        class Idle:
            def pid(self):
                return os.getpid()

        eagleray.init(address="local", num_cpus=2)
        actors = [Idle.remote() for _ in range(4)]
        print(*eagleray.get([actor.pid.remote() for actor in actors]), flush=True)
        input()
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        sizes = [private_mb(int(pid)) for pid in driver.stdout.readline().split()]
        driver.communicate("\n", timeout=60)
    assert len(sizes) == 4
    assert max(sizes) < 6


def test_the_library_is_in_the_zygote_and_go_is_not(fresh: Any) -> None:
    fresh.init(**LOCAL)
    zygote = parent_of(fresh.get(fresh.remote(lambda: os.getpid()).remote()))
    assert Path(f"/proc/{zygote}/comm").read_text() == "eagleray-zygote\n"
    assert "/_core." in Path(f"/proc/{zygote}/maps").read_text()
    assert len(list(Path(f"/proc/{zygote}/task").iterdir())) == 1


def test_pages_that_the_first_worker_wrote_are_copied_for_the_next(script: Any) -> None:
    done = script(
        """
        import ctypes, errno, mmap, os, struct
        from eagleray._private import native

        SIZE, PAGES, POPULATE_WRITE = mmap.PAGESIZE, 64, 23
        memory = mmap.mmap(-1, PAGES * SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.write(bytes(PAGES * SIZE))
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        known = not libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(SIZE), POPULATE_WRITE)
        assert known or ctypes.get_errno() == errno.EINVAL

        def own():
            with open("/proc/self/pagemap", "rb") as file:
                file.seek(address // SIZE * 8)
                entries = struct.unpack(f"{PAGES}Q", file.read(PAGES * 8))
            return [page for page, entry in enumerate(entries) if entry >> 56 & 1]

        def child(run):
            ours, theirs = os.pipe()
            if os.fork() == 0:
                status = 1
                try:
                    os.write(theirs, repr(run()).encode())
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
            return eval(os.read(ours, 65536))

        def write(pages):
            for page in pages:
                memory[page * SIZE] = 1
            native.record_written_pages()
            return own()

        assert native.delay_start()
        native.hot()
        native.before_forks()
        some = [3, 4, 5, 17, 63]
        assert child(own) == []
        assert child(lambda: write(some)) == some
        assert child(own) == (some if known else []), "what was learned is copied at the fork"
        assert child(lambda: write([0])) == ([0, *some] if known else [0])
        assert child(own) == (some if known else []), "the first one teaches"
        native.before_forks()
        assert child(own) == [], "more was loaded: learned anew"
        print("good")
        """
    )
    assert done.stdout == "good\n"


def test_code_rests_while_libraries_are_loaded_and_children_forked(script: Any) -> None:
    done = script(
        """
        import ctypes, os, shutil, signal, tempfile, threading
        import _ctypes
        from eagleray._private import native

        def of_files():
            with open("/proc/self/smaps_rollup") as rows:
                return next(int(row.split()[1]) for row in rows if row.startswith("Pss_File:"))

        assert native.delay_start()
        native.hot()
        before = of_files()
        native.release_code()
        assert of_files() < before / 2, "most of the code that has run is let go of"

        def load(name):
            shutil.copy(_ctypes.__file__, name)
            return ctypes.PyDLL(name).PyInit__ctypes  # found through what relocations wrote

        def keep_resting():
            while not over.is_set():
                begins.set()
                native.release_code()

        over, begins = threading.Event(), threading.Event()
        resting = threading.Thread(target=keep_resting, daemon=True)
        resting.start()
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(20):
                load(f"{folder}/{turn}.so")
                begins.clear()
                begins.wait()
                child = os.fork()
                if child == 0:
                    signal.alarm(20)  # ends one that waits for a lock of the loader's
                    load(f"{folder}/{turn}-child.so")
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
        over.set()
        resting.join()
        print("good")
        """
    )
    assert done.stdout == "good\n"


def test_the_threads_of_go_in_a_worker_have_patient_timers(fresh: Any) -> None:
    def slack() -> list[int]:
        return [int(Path(f"/proc/{thread}/timerslack_ns").read_text()) for thread in os.listdir("/proc/self/task")]

    fresh.init(**LOCAL)
    found = fresh.get(fresh.remote(slack).remote())
    assert max(found) == 2_000_000 and min(found) < 1_000_000, "the main thread keeps its own"


def test_spare_workers_come_for_actors_made_in_turn_and_go(fresh: Any) -> None:
    @fresh.remote(num_cpus=0)
    class Brief:
        def pid(self) -> int:
            return os.getpid()

    fresh.init(**LOCAL)
    zygote = parent_of(fresh.get(fresh.remote(lambda: os.getpid()).remote()))
    seen: list[set[int]] = []
    pids: list[int] = []
    for number in range(12):
        if number > 2:  # the first ones show that actors are made in turn
            until(lambda: workers_of(zygote) - set(pids), "a spare worker comes")
        seen.append(workers_of(zygote))
        actor = Brief.remote()
        pids.append(fresh.get(actor.pid.remote()))
        fresh.kill(actor)
    assert len(set(pids)) == 12, "each has a process of its own"
    assert sum(pid in before for pid, before in zip(pids, seen, strict=True)) >= 6, "most were there before their actor"
    until(lambda: len(workers_of(zygote)) <= 1, "an idle session has no spare workers")
