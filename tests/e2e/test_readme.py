"""The programs of the README and of some guides run as printed, each by itself, and print what their comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What users of a part of the package install themselves.
OPTIONAL = {"dask", "joblib"}
DOCUMENTS = (
    "README.md",
    "docs/accelerators.md",
    "docs/actors.md",
    "docs/cluster.md",
    "docs/coming-from-ray.md",
    "docs/fallback.md",
    "docs/gpu-memory.md",
    "docs/gpu-recipes.md",
    "docs/kernels.md",
    "docs/labels.md",
    "docs/metrics.md",
    "docs/placement-groups.md",
    "docs/ray-programs.md",
    "docs/runtime-env.md",
    "docs/tour.md",
    "docs/util.md",
    "docs/values.md",
)
#: Programs that need something beside them, and the tests that run them.
ELSEWHERE = {
    "docs/go-workers.md": "test_go_workers.py",
    "docs/jobs.md": "test_jobs.py",
    "docs/libraries.md": "test_ray_libraries.py",
}
RUN = "from eagleray._private.cli import main; main()"
BLOCKS = [
    block
    for document in DOCUMENTS
    for block in re.findall(r"(?s)^```python\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE)
]


def test_every_page_with_programs_is_listed() -> None:
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md") if "\n```python\n" in path.read_text()}
    assert pages - set(ELSEWHERE) == set(DOCUMENTS) - {"README.md"}
    for page, test in ELSEWHERE.items():
        assert page.removeprefix("docs/") in (Path(__file__).parent / test).read_text()
    assert len(BLOCKS) >= 50


def test_what_they_import_is_installed_with_the_package() -> None:
    found = re.findall(r"(?m)^(?:dependencies|numpy) = \[(.*)\]$", (ROOT / "pyproject.toml").read_text())
    assert len(found) == 2
    installed = set(re.findall(r'"([\w-]+)', " ".join(found))) | set(sys.stdlib_module_names) | {"eagleray"}
    imported = {name for block in BLOCKS for name in re.findall(r"(?m)^(?:import|from) (\w+)", block)}
    assert "numpy" in imported and imported <= installed | OPTIONAL | {"ray"}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: (re.findall(r"(?:def|class) (\w+)", block) or [None])[0])
def test_block_runs_and_prints_what_it_says(block: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(block)
    command = [sys.executable, "-c", RUN, "run"] if "import ray\n" in block else [sys.executable]
    done = subprocess.run([*command, program], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    said = [comment.split("…") for comment in re.findall(r"(?m)^ *print\(.*\)  # (.*)$", block)]
    printed = done.stdout.splitlines()
    assert len(printed) == len(said), done.stdout
    for line, pieces in zip(printed, said, strict=True):
        at = 0
        for piece in (piece.strip() for piece in pieces):
            assert piece in line[at:], f"{line!r} is to have {piece!r}"
            at = line.index(piece, at) + len(piece)
        assert len(pieces) > 1 or line == pieces[0]
