"""Builds the two native parts of the package; everything else is in pyproject.toml.

- ``eagleray/_bin/eagleray``: the daemon and command line, one static Go binary.
- ``eagleray/_core.*.so``: one shared object with one Go runtime and four extension modules in it. ``_core`` is what
  gopy generates from the Go package ``pybind``; the others are written by hand in ``pybind/hot`` and ``pybind/kern``.

``make dev`` runs ``build_ext --inplace``, which puts both beside the Python sources.
"""

import ast
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
HOT = ROOT / "pybind" / "hot"
KERN = ROOT / "pybind" / "kern"
TOOLS = ROOT / "build" / "tools"
CUDA = ROOT / "build" / "cuda"
MODULE = "github.com/eagleray/eagleray"
# Only these leave the shared object: symbols of the Go runtime must not meet those of another one (gopy #370).
EXPORTS = "{ global: PyInit__core; PyInit__hot; PyInit__kern; PyInit__late; local: *; };\n"


def version() -> str:
    """The version, read without importing the package."""
    tree = ast.parse((ROOT / "python/eagleray/_version.py").read_text())
    return next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))


def cuda_environment() -> dict[str, str]:
    """What the go command needs to build kernels/cuda: the Makefile says the same for the commands that it runs."""
    if sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}:
        return {}  # NVIDIA has no driver there
    cuda_files()
    return {
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -tags=cuda".strip(),
        "CGO_CFLAGS": f"-g -O2 -I{CUDA}",
        "CGO_LDFLAGS": f"-g -O2 -L{CUDA}",
    }


def c_flags() -> str:
    """The C compiler's flags that the go command is to use."""
    return cuda_environment().get("CGO_CFLAGS") or os.environ.get("CGO_CFLAGS", "-g -O2")


def tags() -> str:
    """The build tags of the shared object; given here, they stand in for those of GOFLAGS."""
    # Nothing looks up names of hosts or users; Go's own ways need no functions of libc for it.
    always = "-tags=eagleray_hot,netgo,osusergo"
    return f"{always},cuda" if cuda_environment() else always


def old_glibc(*wraps: str) -> tuple[str, str]:
    """Flags of the compiler and of the linker that let a binary load with an older glibc than the one here.

    Args:
        wraps: Functions whose calls the linker sends to a function of ours.
    """
    linker = "".join(f" -Wl,--wrap={name}" for name in wraps)
    if platform.machine() != "x86_64" or not platform.libc_ver()[0] == "glibc":
        return "", linker if "pthread_getattr_np" in wraps else ""
    # The old versions live in these libraries where glibc is older; newer ones have them as empty shells.
    linker += " -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed"
    wrapped = " -DEAGLERAY_WRAPS" if "pthread_getattr_np" in wraps else ""
    return f" -include {HOT / 'glibc.h'}{wrapped}", linker


def cuda_files() -> None:
    """Puts cuda.h, from NVIDIA's wheel, and an empty libcuda.a into ``CUDA``.

    cu asks for -lcuda; the functions are in kernels/cuda/driver. A copy at one place keeps Go's build cache valid:
    each isolated build has the wheel elsewhere.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else None
    headers = [Path(f) / "cuda_runtime" / "include" / "cuda.h" for f in folders or ()]
    header = next((h for h in headers if h.exists()), None)
    if header is None:
        raise SystemExit(
            "error: building eagleray needs NVIDIA's cuda.h; pip install nvidia-cuda-runtime-cu12==12.9.79 "
            "(neither it nor a driver is needed to run it)"
        )
    CUDA.mkdir(parents=True, exist_ok=True)
    for file, content in (CUDA / "cuda.h", header.read_bytes()), (CUDA / "libcuda.a", b"!<arch>\n"):
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)


def go(*args: str, cwd: Path = ROOT, **env: str) -> None:
    """Runs the go command; a missing one is said plainly."""
    if shutil.which("go") is None:
        raise SystemExit(
            "error: building eagleray needs Go (the version is in go.mod) and a C compiler; neither is needed to run it"
        )
    subprocess.run(["go", *args], cwd=cwd, env={**os.environ, **cuda_environment(), **env}, check=True)


def go_build(
    output: Path, package: str, *, cwd: Path = ROOT, flags: tuple[str, ...] = (), ldflags: str = "", **env: str
) -> None:
    """``go build`` with what every artefact has in common: no paths of this machine, no debug tables."""
    output.parent.mkdir(parents=True, exist_ok=True)
    names = "" if os.environ.get("EAGLERAY_SYMBOLS") else "-s -w "  # perf wants them: see docs/performance.md
    ldflags = f"{names}-buildid= {ldflags}".strip()
    # Beside, then renamed: what runs from the old file goes on running.
    made = output.with_name("new." + output.name)
    go("build", "-trimpath", "-buildvcs=false", *flags, "-ldflags", ldflags, "-o", str(made), package, cwd=cwd, **env)
    made.with_suffix(".h").unlink(missing_ok=True)
    made.replace(output)


class BuildPython(build_py):
    """``build_py`` into an empty folder: a module that was removed must not stay in the wheel."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildGo(build_ext):
    """``build_ext`` for the shared object and the daemon."""

    #: Build tags beyond the usual ones.
    extra = ""
    #: What is added to the version that the build says it has, and more flags of the linker.
    suffix = ""
    linked = ""

    def run(self) -> None:
        super().run()
        base = (
            self.get_finalized_command("build_py").get_package_dir("eagleray")
            if self.inplace
            else os.path.join(self.build_lib, "eagleray")
        )
        bin = Path(base).resolve() / "_bin"
        flags = (f"-tags={self.extra}",) if self.extra else ()
        version_flag = f"-X main.version={version()}{self.suffix} {self.linked}".strip()
        go_build(bin / "eagleray", "./cmd/eagleray", flags=flags, ldflags=version_flag, CGO_ENABLED="0")
        # It loads libraries, so it needs libc; linked by gcc, because auditwheel cannot read what Go's linker makes.
        compiler, linker = old_glibc("__libc_start_main", "dlopen", "dlsym", "dlerror", "dlclose")
        # Go leaves -no-pie out: it tries that flag on a program of its own, which lacks what the calls are sent to.
        linker += " -no-pie"
        go_build(
            bin / "eagleray-gpu",
            "./cmd/eagleray-gpu",
            ldflags=f"'-extldflags={linker}'",
            CGO_ENABLED="1",
            CGO_CFLAGS=c_flags() + compiler,
        )

    def build_extension(self, ext: Extension) -> None:
        work = sources()
        linker = f"-Wl,--version-script={work / 'exports.map'} -Wl,-T,{work / 'late.ld'}"
        compiler, more = old_glibc("pthread_getattr_np")
        linker += more
        go_build(
            Path(self.get_ext_fullpath(ext.name)).resolve(),
            ".",
            cwd=work,
            flags=("-buildmode=c-shared", ",".join(filter(None, [tags(), self.extra]))),
            ldflags=f"-X {MODULE}/pybind.version={version()}{self.suffix} {self.linked} '-extldflags={linker}'",
            CGO_ENABLED="1",
            # Each version of Python declares other functions: what is not declared would return an int.
            CGO_CFLAGS=c_flags() + compiler + " -Werror=implicit-function-declaration",
        )


class BuildVariant(BuildGo):
    """A second build of the package, Python sources and all, in a folder below ``build``."""

    #: The folder.
    folder = ""

    def finalize_options(self) -> None:
        self.build_lib = str(ROOT / "build" / self.folder)
        super().finalize_options()

    def run(self) -> None:
        target = Path(self.build_lib) / "eagleray"
        shutil.rmtree(target, ignore_errors=True)
        native = shutil.ignore_patterns("_bin", "_core.*", "__pycache__")
        shutil.copytree(ROOT / "python" / "eagleray", target, ignore=native)
        super().run()


class BuildPlanted(BuildVariant):
    """``build_planted``: the package with core/internal/planted's bugs, in ``build/planted``, for `make robust`."""

    extra = "planted"
    folder = "planted"


class BuildAhead(BuildVariant):
    """``build_ahead``: the package as the next release would be, in ``build/ahead``, for tests of upgrades.

    It differs from the usual build by its versions alone: each version that two builds compare is one higher.
    """

    folder = "ahead"
    suffix = ".ahead"
    linked = " ".join(
        f"-X {MODULE}/{package}.ahead=1" for package in ("core/internal/wire", "core/internal/linkmsg", "raftstate")
    )


class Plain(Command):
    """A command without options."""

    user_options: ClassVar[list[tuple[str, str, str]]] = []

    def initialize_options(self) -> None:
        pass

    def finalize_options(self) -> None:
        pass


class CudaFiles(Plain):
    """``cuda_files``: what the Makefile's go commands need to build kernels/cuda."""

    def run(self) -> None:
        cuda_files()


class CheckHot(Plain):
    """``check_hot``: go vet and the C compiler's warnings for what ``./...`` does not reach.

    That is pybind/hot and pybind/kern. Each file is compiled by itself, headers too: none relies on what another one
    has included before.
    """

    def run(self) -> None:
        work = sources()
        go("vet", tags(), ".", cwd=work)
        include = ["-I" + sysconfig.get_paths()["include"], "-I."]
        cgo = [file.name for file in work.glob("*.go") if 'import "C"' in file.read_text()]
        go("tool", "cgo", "-objdir=lint", "--", *include, *cgo, cwd=work)  # writes lint/_cgo_export.h
        for file in [p for folder in (HOT, KERN) for p in folder.glob("*.[ch]")]:
            strict = ["-fsyntax-only", "-x", "c", "-Wall", "-Wextra", "-Werror", "-Ilint"]
            subprocess.run([os.environ.get("CC", "cc"), *strict, *include, file.name], cwd=work, check=True)


def sources() -> Path:
    """The folder with all sources of the shared object, up to date."""
    # Inside the module, so that its packages are found; the underscore keeps ./... away from it.
    work = ROOT / "build" / "_ext" / sys.implementation.cache_tag
    generate(work)
    update_hot(work)
    return work


def generate(work: Path) -> None:
    """Generates gopy's part into ``work``, unless it is there for these sources already."""
    inputs = [*sorted((ROOT / "pybind").glob("*.go")), ROOT / "setup.py", ROOT / "go.mod"]
    key = hashlib.sha256(repr((sys.version, sysconfig.get_paths()["include"])).encode())
    for file in inputs:
        key.update(file.read_bytes())
    stamp = work / "stamp"
    if stamp.exists() and stamp.read_text() == key.hexdigest():
        return
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    go("build", "-o", f"{TOOLS}/", "github.com/go-python/gopy", "golang.org/x/tools/cmd/goimports")

    environment = {**os.environ, **cuda_environment()}

    def run(*args: str, cwd: Path) -> None:
        subprocess.run(args, cwd=cwd, env=environment, check=True, stdout=subprocess.DEVNULL)

    run(
        str(TOOLS / "gopy"),
        "gen",
        f"-output={work}",
        f"-vm={sys.executable}",
        "-name=core",
        "-no-make=true",
        "-dynamic-link=true",
        "./pybind",
        cwd=ROOT,
    )
    # gopy links a run path of this machine's Python into the library: an extension module needs the headers only.
    core = work / "core.go"
    flags = f'#cgo CFLAGS: "-I{sysconfig.get_paths()["include"]}"\n'
    core.write_text(re.sub(r"(?m)^#cgo CFLAGS:.*\n#cgo LDFLAGS:.*\n", lambda _: flags, core.read_text(), count=1))
    run(str(TOOLS / "goimports"), "-w", "core.go", cwd=work)
    run(sys.executable, "build.py", cwd=work)  # writes core.c
    # pybind/hot/late.c sees to it that Go runs before what gopy has made is used.
    made = work / "core.c"
    made.write_text("#define PyInit__core gopy_init\n" + made.read_text())
    # The header that core.c asks for is the one that cgo makes of the exported functions during the build.
    (work / "core_go.h").write_text('#include "_cgo_export.h"\n')
    (work / "exports.map").write_text(EXPORTS)
    stamp.write_text(key.hexdigest())


def update_hot(work: Path) -> None:
    """Makes ``work`` hold the files of ``pybind/hot`` and ``pybind/kern`` as they are now.

    Both are one Go package, that of the shared object, so no file of one may have the name of a file of the other.
    """
    files = [p for folder in (HOT, KERN) for p in folder.iterdir() if p.suffix in {".go", ".c", ".h", ".ld"}]
    hot = {p.name: p for p in files}
    if len(hot) < len(files):
        raise SystemExit("error: a file of pybind/hot and one of pybind/kern have the same name")
    listing = work / "hot.files"
    old = set(listing.read_text().split()) if listing.exists() else set()
    for name in old - hot.keys():
        (work / name).unlink(missing_ok=True)
    for name, file in hot.items():
        shutil.copyfile(file, work / name)
    listing.write_text("\n".join(sorted(hot)))


setup(
    ext_modules=[Extension("eagleray._core", [])],
    cmdclass={
        "build_py": BuildPython,
        "build_ext": BuildGo,
        "build_planted": BuildPlanted,
        "build_ahead": BuildAhead,
        "check_hot": CheckHot,
        "cuda_files": CudaFiles,
    },
)
