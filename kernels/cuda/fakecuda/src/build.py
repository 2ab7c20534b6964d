"""Builds the stand-in for the CUDA driver into a folder: ``python build.py FOLDER``. See ../doc.go for what it is.

Needs g++ alone. Prints the environment variables that make eagleray use it, one ``NAME=value`` a line.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SRC = HERE.parents[2] / "src"
sys.path.insert(0, str(SRC))
sys.dont_write_bytecode = True  # make looks at what kernels holds
from compile_ptx import SOURCES  # noqa: E402

WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unknown-pragmas")
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", *WARNINGS)
# Kernels round a product and a sum one by one, as the PTX does, and read elements through other types.
KERNEL = ("-x", "c++", "-ffp-contract=off", "-fno-strict-aliasing", f"-I{HERE}", f"-I{SRC}")
LIBRARIES = {
    "libcuda.so.1": ("device.cc", "memory.cc", "launch.cc"),
    "libnvrtc.so.12": ("nvrtc.cc",),
    "libcublas.so.12": ("cublas.cc",),
}
VARIABLES = {
    "EAGLERAY_LIBCUDA": "libcuda.so.1",
    "EAGLERAY_NVRTC": "libnvrtc.so.12",
    "EAGLERAY_CUBLAS": "libcublas.so.12",
}


def compile_with(*arguments: str) -> None:
    subprocess.run([os.environ.get("CXX", "g++"), *FLAGS, *arguments], check=True)


def build(folder: Path) -> dict[str, str]:
    """Builds everything that is not there yet or older than its sources; gives the environment."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed: two test programs may start at once
        build_stale(folder)
    return {name: str(folder / library) for name, library in VARIABLES.items()}


def build_stale(folder: Path) -> None:
    sources = [*HERE.iterdir(), *SRC.iterdir()]
    changed = max(file.stat().st_mtime for file in sources if file.suffix != ".go")
    stamp = folder / "built"
    if not stamp.exists() or stamp.stat().st_mtime < changed:
        for library, files in LIBRARIES.items():
            parts = []
            for name in files:
                parts.append(str(folder / name.replace(".cc", ".o")))
                compile_with(f"-DHERE={HERE}", "-c", str(HERE / name), "-o", parts[-1])
            compile_with(*parts, "-shared", "-o", str(folder / library), "-ldl")
        objects = [str(folder / "host.o")]
        compile_with("-c", str(HERE / "host.cc"), "-o", objects[0])
        for name, kinds in SOURCES.items():
            for kind in kinds:
                objects.append(str(folder / f"{name}_{kind}.o"))
                compile_with(*KERNEL, f"-DTYPE={kind}", "-c", str(SRC / f"{name}.cu"), "-o", objects[-1])
        compile_with(*objects, "-shared", "-o", str(folder / "kernels.so"), "-ldl")
        stamp.touch()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for name, value in build(Path(sys.argv[1]).resolve()).items():
        print(f"{name}={value}")
