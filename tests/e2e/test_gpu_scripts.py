"""tests/gpu, which needs a real GPU, on the stand-in for the driver: that it runs at all, with small arrays."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64") or shutil.which("g++") is None,
    reason="the stand-in is built with g++, for machines that have CUDA",
)


def test_the_hardware_script_runs(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("fakecuda_build", ROOT / "kernels/cuda/fakecuda/src/build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = {"PYTHON": sys.executable, "SMALL": "1", "GPUS": "1", "RESULTS": str(tmp_path)}
    done = subprocess.run(
        ["sh", str(ROOT / "tests/gpu/run.sh"), "stand-in"],
        env={**os.environ, **module.build(ROOT / "build/cuda/fake"), **settings},
        capture_output=True,
        text=True,
        timeout=120,
    )
    raw = (tmp_path / "gpu-stand-in.txt").read_text()
    assert done.returncode == 0, done.stdout + done.stderr + raw
    assert "passed" in raw and "FAILED" not in raw
    assert "every kernel beside the host's" in raw
    result = json.loads((tmp_path / "gpu-stand-in.json").read_text())
    assert result["bandwidth_gb_per_s"] and all(value > 0 for value in result["workers_ms"].values())


def test_the_hardware_script_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", str(ROOT / "tests/gpu/run.sh")],
        env={**os.environ, "PYTHON": sys.executable, "RESULTS": str(tmp_path), "EAGLERAY_LIBCUDA": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3 and "no CUDA device" in done.stderr
    assert not list(tmp_path.iterdir())
