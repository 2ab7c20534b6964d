"""The time of day of one machine jumps: that of its running processes, since no namespace has a time of day of its own.

Programs in Go read the time of day by a function that the kernel maps into each process, ``clock_gettime`` of the vDSO.
``jump`` replaces that function's first bytes in one process by a few instructions that ask the kernel itself and add
some seconds to the time of day. The monotonic clock stays, as it does when somebody sets the clock of a machine. Linux
copies the page when it is written to, so other processes keep theirs.
"""

from __future__ import annotations

import os
import platform
import signal
import struct
from io import FileIO
from pathlib import Path

from processes import until

_NAME = b"__vdso_clock_gettime"
#: The type of the section of an ELF file that has the dynamic symbols.
_DYNSYM = 11
#: Asks the kernel (system call 228), and adds what stands at byte 32 to the seconds of the time of day (clock 0).
_CODE = bytes.fromhex("b8e4000000 0f05 85c0 750e 85ff 750a 488b0d0a000000 48010e c3").ljust(32, b"\xcc")


def why_not() -> str:
    """Why the clock of a process cannot be set; "" if it can."""
    if platform.machine() != "x86_64":
        return "the instructions are those of x86-64"
    return "needs root, since the heads let nobody else into their memory" if os.geteuid() else ""


def jump(pid: int, seconds: int) -> None:
    """Has a process live some seconds later than it is, or earlier; 0 gives it the right time again.

    Raises:
        LookupError: The process has no such function.
        OSError: It has ended, or its memory may not be written.
    """
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        start, end = _vdso(pid)
        at, size = _function(_read(memory, start, end - start))
        if size < len(_CODE) + 8 or (start + at) % 8:
            raise LookupError(f"the function {_NAME!r} of process {pid} has {size} bytes at {start + at:#x}")
        if _read(memory, start + at, len(_CODE)) != _CODE:
            _replace(pid, memory, (start, end), start + at)
        memory.seek(start + at + len(_CODE))
        memory.write(struct.pack("<q", seconds))


def _replace(pid: int, memory: FileIO, vdso: tuple[int, int], at: int) -> None:
    """Writes the instructions while no thread of the process is within that code."""
    try:
        until(lambda: _stopped_outside(pid, vdso), 30, f"no thread of process {pid} reads the clock")
        memory.seek(at)
        memory.write(_CODE + bytes(8))
    finally:
        os.kill(pid, signal.SIGCONT)


def _stopped_outside(pid: int, vdso: tuple[int, int]) -> bool:
    """Stops a process. Returns whether all its threads have stopped outside of some memory; else they go on."""
    os.kill(pid, signal.SIGSTOP)
    threads = [Path(f"/proc/{pid}/task/{thread}") for thread in os.listdir(f"/proc/{pid}/task")]
    until(lambda: all(_state(thread) == "T" for thread in threads), 30, f"process {pid} stops")
    places = [int((thread / "syscall").read_text().split()[-1], 16) for thread in threads]
    if not any(vdso[0] <= place < vdso[1] for place in places):
        return True
    os.kill(pid, signal.SIGCONT)
    return False


def _state(thread: Path) -> str:
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]


def _vdso(pid: int) -> tuple[int, int]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            first, last = line.split()[0].split("-")
            return int(first, 16), int(last, 16)
    raise LookupError(f"process {pid} has no vDSO")


def _read(memory: FileIO, at: int, size: int) -> bytes:
    memory.seek(at)
    return memory.read(size)


def _function(image: bytes) -> tuple[int, int]:
    """Where the function is in the image of the vDSO, an ELF file of 64 bits, and how long it is."""
    (sections,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, sections + size * number) for number in range(count)]
    for _, kind, _, _, place, length, link, _, _, each in heads:
        if kind != _DYNSYM:
            continue
        names = heads[link][4]
        for entry in range(place, place + length, each):
            name, _, _, _, value, extent = struct.unpack_from("<IBBHQQ", image, entry)
            if image[names + name :].startswith(_NAME + b"\0"):
                return value, extent
    raise LookupError(f"the vDSO has no function {_NAME!r}")
