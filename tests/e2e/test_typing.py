"""Type checkers know what remote functions return: tests/typing through mypy and pyright."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "typing"

CHECKERS = {
    "mypy": ["mypy", "--strict", "--no-error-summary", "--config-file=", "--python-version=3.10"],
    "basedpyright": ["basedpyright", "--pythonversion=3.10"],
}


def complaints(checker: str, name: str) -> dict[int, str]:
    """The lines of a file that a checker objects to, with what it says."""
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    command = [sys.executable, "-m", *CHECKERS[checker], str(FOLDER / name)]
    if checker == "basedpyright":
        config = FOLDER / "pyrightconfig.json"
        command = [sys.executable, "-m", "basedpyright", "-p", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(rf"{re.escape(name)}:(\d+)(?::\d+)?(?: -|:) error:? (.*)", done.stdout)
    return {int(line): text for line, text in found}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("name", ["accepted.py", "accepted_kernels.py"])
def test_types_are_known(checker: str, name: str) -> None:
    assert complaints(checker, name) == {}


@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found(checker: str) -> None:
    lines = (FOLDER / "refused.py").read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("# wrong")}
    assert set(complaints(checker, "refused.py")) == wrong


def test_the_public_interface_has_types(tmp_path: Path) -> None:
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed")
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]
    # The checker finds packages that a .pth file names in all its modes but this one.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [*command, "--verifytypes", "eagleray", "--ignoreexternal"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    found = json.loads(done.stdout)["typeCompleteness"]
    unknown = [one["name"] for one in found["symbols"] if one["isExported"] and not one["isTypeKnown"]]
    assert found["completenessScore"] >= 0.98, unknown
