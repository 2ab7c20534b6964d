"""Compiles the kernels to PTX, which is embedded in kernels/cuda: ``make gen`` writes it, ``make check`` compares it.

NVRTC and ptxas come from PyPI, into ``--tools``; no GPU is needed. The same source gives the same bytes each time.
"""

import argparse
import ctypes
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SRC = Path(__file__).resolve().parent
OUTPUT = SRC.parent / "cuda" / "ptx.zip"
# PTX of CUDA 12.0 is what any driver from 525 on compiles; ptxas knows all of these devices.
TOOLS = ("nvidia-cuda-nvrtc-cu12==12.0.140", "nvidia-cuda-nvcc-cu12==12.9.86")
ARCHITECTURE = "compute_75"
DEVICES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")

FLOATS = ("f16", "bf16", "f32", "f64")
ALL = (*FLOATS, "i32", "i64", "u8")
# Each source is compiled for these element types.
SOURCES = {
    "map": ALL,
    "cast": ALL,
    "copy": ("b1", "b2", "b4", "b8"),
    "reduce": ALL,
    "matmul": FLOATS,
    "softmax": FLOATS,
}


class Nvrtc:
    """The run-time compiler."""

    def __init__(self, tools: Path) -> None:
        folder = tools / "nvidia" / "cuda_nvrtc" / "lib"
        # NVRTC opens its builtins by name: found if they are loaded already.
        ctypes.CDLL(str(folder / "libnvrtc-builtins.so.12.0"), ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(folder / "libnvrtc.so.12"))

    def text(self, program: ctypes.c_void_p, what: str) -> str:
        """The log or the PTX of a program."""
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode()

    def compile(self, name: str, kind: str) -> str:
        """The PTX of one source for one element type."""
        options = [
            f"--include-path={SRC}",
            f"--gpu-architecture={ARCHITECTURE}",
            "--std=c++17",
            # A product and a sum are rounded one by one, as on the host; matmul asks for fma where it wants it.
            "--fmad=false",
            "--diag-suppress=177",
            f"--define-macro=TYPE={kind}",
        ]
        program = ctypes.c_void_p()
        source = (SRC / f"{name}.cu").read_bytes()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source, f"{name}.cu".encode(), 0, None, None)
        arguments = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        failed = self.library.nvrtcCompileProgram(program, len(options), arguments)
        log = self.text(program, "ProgramLog").strip()
        if failed or log:
            raise SystemExit(f"{name}.cu for {kind}:\n{log}")
        return self.text(program, "PTX")


def compile_all(tools: Path) -> dict[str, str]:
    """File name to PTX."""
    nvrtc = Nvrtc(tools)
    return {f"{name}_{kind}.ptx": nvrtc.compile(name, kind) for name, kinds in SOURCES.items() for kind in kinds}


def write(ptx: dict[str, str]) -> None:
    """Writes the archive."""
    with zipfile.ZipFile(OUTPUT, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in sorted(ptx.items()):
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED, 9)


def embedded() -> dict[str, str]:
    """What the archive holds. Its own bytes depend on the zlib at hand, so they are not compared."""
    with zipfile.ZipFile(OUTPUT) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def assemble(tools: Path, ptx: dict[str, str]) -> None:
    """Has ptxas compile everything for every kind of device."""
    ptxas = tools / "nvidia" / "cuda_nvcc" / "bin" / "ptxas"

    def one(name: str, device: str) -> str:
        done = subprocess.run(
            [str(ptxas), f"--gpu-name={device}", "--output-file=/dev/null", "-"],
            input=ptx[name].encode(),
            capture_output=True,
        )
        return f"{name} on {device}: {done.stderr.decode()}" if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        wrong = [e for e in pool.map(lambda job: one(*job), [(n, d) for n in ptx for d in DEVICES]) if e]
    if wrong:
        raise SystemExit("\n".join(wrong))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, required=True, help="where NVRTC and ptxas are, or are to be installed")
    parser.add_argument("--check", action="store_true", help="compare with what is embedded, and run ptxas")
    options = parser.parse_args()
    stamp = options.tools / "installed"
    if not stamp.exists() or stamp.read_text() != repr(TOOLS):
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--upgrade", "--target", str(options.tools)]
        subprocess.run([*pip, *TOOLS], check=True)
        stamp.write_text(repr(TOOLS))
    ptx = compile_all(options.tools)
    if not options.check:
        return write(ptx)
    old = embedded()
    stale = sorted(name for name in {*ptx, *old} if ptx.get(name) != old.get(name))
    if stale:
        raise SystemExit(f"{OUTPUT.name} does not hold what kernels/src compiles to: {', '.join(stale)}; run make gen")
    assemble(options.tools, ptx)


if __name__ == "__main__":
    main()
