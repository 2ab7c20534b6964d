"""The commands that docs/cli.md prints run as printed, and the table there has all commands."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from two_nodes import LIMIT, Node

GUIDE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
LINES = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"(?s)^```sh\n(.*?)^```", GUIDE, re.MULTILINE)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    made = Node("guide")
    made.start("--head", "--port=0", "--node-ip-address=127.0.0.1", "--num-cpus=1", "--dashboard-port=0")
    try:
        folder = tmp_path_factory.mktemp("bin")
        program = folder / "eagleray"
        program.write_text(f"#!{sys.executable}\nfrom eagleray._private.cli import main\nmain()\n")
        program.chmod(0o755)
        made.env["PATH"] = f"{folder}:{made.env['PATH']}"
        made.env["PYTHONWARNINGS"] = "error"
        yield made
    finally:
        made("stop")
        made.clear()


@pytest.mark.parametrize("line", LINES)
def test_line_of_the_guide_runs(node: Node, line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", line], env=node.env, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    assert "\033" not in done.stdout


def test_the_table_has_all_commands(node: Node) -> None:
    done = subprocess.run(["eagleray", "--help"], env=node.env, capture_output=True, text=True, timeout=LIMIT)
    commands = set(re.findall(r"(?m)^  ([a-z][a-z-]+)(?: |$)", done.stdout))
    table = " ".join(re.findall(r"(?m)^\| (`.*?) \|", GUIDE))
    explained = {name.split()[0] for name in re.findall(r"`([a-z-]+)[^`]*`", table)}
    assert commands == explained
