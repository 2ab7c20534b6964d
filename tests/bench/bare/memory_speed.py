"""How fast this machine copies: to memory that is there, to a file's pages that are there, and to pages that are not.

The destinations are files in memory, as a store shared by processes needs. Rates are in MiB/s; where the number of
threads is free, the better of one and one for each core counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

import numpy as np

from bare import library

MIB = 2**20
THREADS = tuple(sorted({1, len(os.sched_getaffinity(0))}))


def _copies() -> ctypes.CDLL:
    lib = library("copy")
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    lib.copy.argtypes = [address, address, size, number]
    lib.write_at.argtypes = [number, size, address, size, number]
    lib.map_copy.argtypes = [number, address, size, number, number, number, ctypes.POINTER(address)]
    lib.reserve_copy.argtypes = [number, address, size, number, ctypes.POINTER(address)]
    lib.unmap.argtypes = [address, size]
    for one in (lib.copy, lib.write_at, lib.map_copy, lib.reserve_copy):
        one.restype = ctypes.c_double
    return lib


def _took(seconds: float) -> float:
    if seconds < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return seconds


class Recycled:
    """A shared file in memory whose pages are mapped and were written before: the best that a store can hope for."""

    def __init__(self, size: int) -> None:
        self._fd = os.memfd_create("recycled")
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)
        self._pages = np.frombuffer(self._map, dtype=np.uint8)
        self._pages[:] = 1

    def copy(self, source: np.ndarray, threads: int) -> float:
        """Seconds that memcpy takes for the whole of `source`."""
        return _took(_copies().copy(self._pages.ctypes.data, source.ctypes.data, source.nbytes, threads))

    def holds(self, source: np.ndarray) -> bool:
        return bool((self._pages[: source.nbytes] == source).all())


def write_at(fd: int, offset: int, source: np.ndarray, threads: int) -> float:
    """Seconds that pwrite takes to put `source` at an offset of a file."""
    return _took(_copies().write_at(fd, offset, source.ctypes.data, source.nbytes, threads))


@dataclass(frozen=True)
class Way:
    """A way to put bytes into memory that no process had before."""

    name: str
    make: Callable[[], int]  # an empty file in memory
    write: str = "pwrite"  # or "map", "populate", "reserve", "huge"

    def seconds(self, source: np.ndarray, threads: int, copies: int) -> float:
        """How long it takes to write some copies, all of which are then there at once; the memory is given back.

        Raises:
            OSError: this machine does not have it.
        """
        with contextlib.ExitStack() as stack:
            return sum(self._one(source, threads, stack) for _ in range(copies))

    def _one(self, source: np.ndarray, threads: int, stack: contextlib.ExitStack) -> float:
        lib, size = _copies(), source.nbytes
        fd = self.make()
        stack.callback(os.close, fd)
        os.ftruncate(fd, size)
        if self.write == "pwrite":
            return write_at(fd, 0, source, threads)
        mapped = ctypes.c_void_p()
        try:
            if self.write == "reserve":
                return _took(lib.reserve_copy(fd, source.ctypes.data, size, threads, ctypes.byref(mapped)))
            flags = getattr(mmap, "MAP_POPULATE", 0x8000) if self.write == "populate" else 0
            huge = int(self.write == "huge")
            return _took(lib.map_copy(fd, source.ctypes.data, size, flags, huge, threads, ctypes.byref(mapped)))
        finally:
            if mapped.value:
                stack.callback(lib.unmap, mapped, size)


def _plain() -> int:
    return os.memfd_create("cold")


def _hugetlb() -> int:
    return os.memfd_create("cold", os.MFD_CLOEXEC | os.MFD_HUGETLB)


_IN_NAMESPACE = """
import os, socket, sys
folder = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECTORY)
socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [b"f"], [folder])
"""


@contextlib.contextmanager
def huge_tmpfs(size: int) -> Iterator[Callable[[], int]]:
    """Makes files on a tmpfs of huge pages in a user namespace, which needs no rights of its own.

    Raises:
        OSError: not on this machine.
    """
    mine, its = socket.socketpair()
    folder = tempfile.mkdtemp(prefix="bench-")
    with mine, its:
        mount = f'mount -t tmpfs -o huge=always,size={size} none "$3" && exec "$0" -c "$1" "$2" "$3"'
        command = ["unshare", "-Urm", "sh", "-c", mount, sys.executable, _IN_NAMESPACE, str(its.fileno()), folder]
        try:
            done = subprocess.run(command, pass_fds=[its.fileno()], capture_output=True, text=True)
        finally:
            os.rmdir(folder)
        if done.returncode:
            raise OSError(errno.EPERM, f"no tmpfs of huge pages: {done.stderr.strip()[-200:]}")
        _, [root], _, _ = socket.recv_fds(mine, 1, 1)
    try:
        yield lambda: os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=root)
    finally:
        os.close(root)


WAYS = (
    Way("pwrite", _plain),
    Way("memcpy into a new mapping", _plain, "map"),
    Way("memcpy after MAP_POPULATE", _plain, "populate"),
    Way("memcpy after fallocate", _plain, "reserve"),
    Way("memcpy after MADV_HUGEPAGE", _plain, "huge"),
    Way("memcpy to hugetlbfs", _hugetlb, "map"),
)


def _together(way: Way, source: np.ndarray, writers: int, threads: int, copies: int) -> float:
    """Seconds until all of some writers have written their copies, each by threads of its own."""
    if writers == 1:
        return way.seconds(source, threads, copies)
    with ThreadPoolExecutor(writers) as pool:
        return max(pool.map(lambda _: way.seconds(source, threads, copies), range(writers)))


def named(way: Way, threads: int) -> str:
    return f"{way.name}, {threads} thread{'s' if threads > 1 else ''}"


def best_cold(source: np.ndarray, writers: int = 1, copies: int = 1, turns: int = 3) -> tuple[float, str]:
    """Bytes a second of the best way that this machine has to write `source` to new files, and which way it is.

    The rate of a way is its median over some turns; some writers write at once, each some files that then are there
    together. A way that took twice as long as the best one in the first turn has no more turns.
    """
    taken: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        ways: list[Way] = list(WAYS)
        if shutil.which("unshare"):
            with contextlib.suppress(OSError):
                make = stack.enter_context(huge_tmpfs((writers * copies + 1) * source.nbytes))
                ways += [Way("memcpy to huge-page tmpfs", make, "map"), Way("pwrite to huge-page tmpfs", make)]
        left = [(way, threads) for way in ways for threads in (THREADS if writers == 1 else (1,))]
        for _ in range(turns):
            for way, threads in left:
                with contextlib.suppress(OSError):
                    seconds = _together(way, source, writers, threads, copies)
                    taken.setdefault(named(way, threads), []).append(seconds)
            limit = 2 * min(all_[0] for all_ in taken.values())
            left = [one for one in left if named(*one) in taken and taken[named(*one)][0] <= limit]
    rates = {name: writers * copies * source.nbytes / median(all_) for name, all_ in taken.items()}
    best = max(rates, key=lambda name: rates[name])
    return rates[best], best
