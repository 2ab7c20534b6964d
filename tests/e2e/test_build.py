"""What the build puts into the package, seen in the tree that the tests run on."""

import importlib.util
import platform
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from eagleray import _version
from eagleray._private import cli, native

ROOT = Path(__file__).parents[2]
WHEEL_LIMIT = 25_000_000


def library() -> Path:
    file = native.core().__file__
    assert file is not None
    return Path(file)


def test_versions_agree() -> None:
    assert native.core().pybind_Version() == _version.__version__


def test_both_modules_share_one_library() -> None:
    assert native.hot() is native.hot() is sys.modules["eagleray._hot"]
    assert native.hot().__file__ == native.core().__file__


def test_library_exports_only_its_modules() -> None:
    table = subprocess.run(["nm", "-D", "--defined-only", library()], capture_output=True, text=True, check=True).stdout
    modules = {"PyInit__core", "PyInit__hot", "PyInit__kern", "PyInit__late"}
    assert {line.split()[-1] for line in table.splitlines()} == modules


def test_the_sources_are_compiled() -> None:
    """Where PYTHONDONTWRITEBYTECODE is set, driver and zygote would else compile each module at every start."""
    built = (ROOT / ".venv" / ".bytecode").stat().st_mtime
    stale = []
    for source in sorted((ROOT / "python" / "eagleray").rglob("*.py")):
        found = source.stat()
        if found.st_mtime > built:
            continue  # edited since `make dev`
        compiled = Path(importlib.util.cache_from_source(str(source), optimization=""))
        header = compiled.read_bytes()[:16] if compiled.exists() else b""
        expected = struct.pack("<4sIII", importlib.util.MAGIC_NUMBER, 0, int(found.st_mtime), found.st_size)
        if header != expected:
            stale.append(source.name)
    assert not stale


def test_daemon_is_static() -> None:
    segments = subprocess.run(["readelf", "-lW", cli.BINARY], capture_output=True, text=True, check=True).stdout
    assert "LOAD" in segments
    assert "INTERP" not in segments and "DYNAMIC" not in segments


def test_no_path_of_the_building_machine() -> None:
    for artefact in (library(), Path(cli.BINARY)):
        assert bytes(ROOT) not in artefact.read_bytes(), f"{ROOT} in {artefact.name}"
    dynamic = subprocess.run(["readelf", "-dW", library()], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in dynamic
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic


@pytest.mark.skipif(platform.machine() != "x86_64", reason="old versions of functions are chosen on x86-64")
def test_libraries_load_with_an_old_glibc() -> None:
    for artefact in (library(), Path(cli.BINARY).with_name("eagleray-gpu")):
        table = subprocess.run(["readelf", "-VW", artefact], capture_output=True, text=True, check=True).stdout
        asked = {tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([\d.]+)", table)}
        assert asked and max(asked) <= (2, 17), f"{artefact.name} needs glibc {max(asked)}: see pybind/hot/glibc.h"


def test_wheel_stays_small() -> None:
    packed = sum(len(zlib.compress(file.read_bytes())) for file in (library(), Path(cli.BINARY)))
    assert packed < WHEEL_LIMIT
