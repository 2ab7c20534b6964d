"""The tool that changes Python sources to see whether tests notice; that for Go has its tests in tests/mutants."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "mutants"))
from python_mutants import TESTS, Finder, Measured, measure
from trial import Bounds, descendants, run

SOURCE = b"""\
def f(a, b):
    if a < b and not b is None:
        print("\xc3\xa4", a + b)
    a += 2
    return True if a in b else a - 1
    return -1
"""


def test_each_kind_of_change() -> None:
    found = Finder(SOURCE).places()
    assert [f"{place.line}: {place.what}" for place in found] == [
        "2: condition negated: a < b and not b is None",
        "2: < becomes <=",
        "2: and becomes or",
        "2: is becomes is not",
        '3: skipped: print("ä", a + b)',
        "3: + becomes -",
        "4: skipped: a += 2",
        "4: 2 becomes 3",
        "5: True becomes False",
        "5: condition negated: a in b",
        "5: in becomes not in",
        "5: - becomes +",
        "5: 1 becomes 2",
    ]
    assert found[5].apply(SOURCE) == SOURCE.replace(b"a + b", b"a - b")


def test_the_table_names_files_that_exist() -> None:
    root = Path(__file__).parents[2]
    for module, tests in TESTS.items():
        assert (root / "python/eagleray" / f"{module}.py").exists(), module
        assert all((root / "tests/e2e" / test).exists() for test in tests), tests


def test_a_small_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("held", "free"):
        (sources / f"{name}_module.py").write_text("def less(a, b):\n    return a < b\n")
    held, free = tmp_path / "test_held.py", tmp_path / "test_free.py"
    held.write_text("from held_module import less\n\ndef test_less():\n    assert less(1, 2) and not less(1, 1)\n")
    free.write_text("from free_module import less\n\ndef test_less():\n    less(1, 2)\n")
    tests = {"held_module.py": [held], "free_module.py": [free]}
    free_survives = ["free_module.py:2: < becomes <="]
    assert measure(sources, tests, 1, 10, time.monotonic() + 600) == Measured(2, free_survives, [])
    assert "survived: free_module.py:2" in capsys.readouterr().out
    lines = ["held_module.py:2", "free_module.py:1"]
    assert measure(sources, tests, 1, 10, time.monotonic() + 600, lines) == Measured(1, [], [])
    once = "from pathlib import Path\n\nwas = Path(__file__).with_suffix('.was')\n\ndef test_once():\n"
    held.write_text(once + "    passes, _ = was.exists(), was.touch()\n    assert passes\n")
    # The tests fail in their first run only, so they are tried again.
    assert measure(sources, {"held_module.py": [held]}, 1, 10, time.monotonic() + 600).tried == 1
    held.write_text("def test_less():\n    assert False\n")
    # One module cannot be measured, and the other one is.
    found = measure(sources, tests, 1, 10, time.monotonic() + 600)
    assert found == Measured(1, free_survives, ["held_module.py"])
    assert capsys.readouterr().out.count("given up: the unchanged tests of held_module.py fail 2 times") == 1


def test_a_trial_leaves_nothing_behind(tmp_path: Path) -> None:
    script = """setsid sh -c 'echo $$ > pid; exec sleep 1000' &
        while ! test -s pid; do sleep 0.01; done
        echo $TMPDIR > folder && test "$TMPDIR" = "$EAGLERAY_TMPDIR" && touch $TMPDIR/a"""
    assert run(["sh", "-c", script], tmp_path, os.environ, 60)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert not Path((tmp_path / "folder").read_text().strip()).exists()
    assert descendants() == []


@pytest.mark.parametrize(
    ("script", "bounds"),
    [
        ("dd if=/dev/zero of=/dev/null bs=256M & wait; exit 0", Bounds(memory=64 << 20)),
        ("i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > $TMPDIR/$i || exit 0; done", Bounds(disk=16 << 20)),
        ("while :; do sleep 1000 & done", Bounds(processes=20)),
        ("head -c 9M /dev/zero > large", Bounds(file=8 << 20)),
        ("exit 1", Bounds()),
        ("sleep 1000", None),
    ],
    ids=["memory", "disk", "processes", "file", "failure", "time"],
)
def test_a_trial_that_exceeds_its_bounds_fails(tmp_path: Path, script: str, bounds: Bounds | None) -> None:
    began = time.monotonic()
    assert not run(["sh", "-c", script], tmp_path, os.environ, 60 if bounds else 0.2, bounds)
    assert time.monotonic() - began < 60, "the limit of the time ended it"
    assert descendants() == []
    (tmp_path / "large").write_bytes(bytes(9 << 20))  # the bound on files holds for the trial only
