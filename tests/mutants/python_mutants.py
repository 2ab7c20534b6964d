"""Measures whether the tests of the Python package bite; the Go program beside this one does the same for Go.

    python tests/mutants/python_mutants.py --seed 7 -n 10
    python tests/mutants/python_mutants.py -at actor.py:120

One place of one module is changed at a time, in a copy of the package that is made of links, and the test files that
``TESTS`` names for the module run. A change that none of them notices is a survivor. The same seed chooses the same
places in the same sources. Left out, as in Go, are negative numbers: -1 and -2 both stand for none. Each run has
bounds, see ``trial.py``; tests that exceed them count as failed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from trial import run

ROOT = Path(__file__).resolve().parents[2]
#: The share of changes that the tests have to notice.
WANTED = 0.75
#: Module, without its ending: the files below tests/e2e that test it.
TESTS: dict[str, list[str]] = {
    "_private/calls/arguments": ["test_unit_arguments.py", "test_tasks.py", "test_values.py"],
    "_private/values/asynchronous": ["test_waiting.py"],
    "_private/faults": ["test_errors.py", "test_retries.py"],
    "_private/calls/options": ["test_resources.py", "test_errors.py", "test_tasks.py", "test_actors.py"],
    "_private/session/printing": ["test_unit_printing.py", "test_output.py"],
    "_private/calls/resources": ["test_resources.py", "test_gpu_memory.py"],
    "_private/calls/retrying": ["test_retries.py", "test_actor_restarts.py"],
    "_private/values/serialization": ["test_unit_values.py", "test_values.py"],
    "_private/worker/stream": ["test_generators.py", "test_generator_ends.py"],
    "actor": ["test_actors.py", "test_actor_restarts.py"],
    "exceptions": ["test_errors.py", "test_retries.py"],
    "remote_function": ["test_tasks.py", "test_resources.py", "test_errors.py", "test_fallback.py"],
    "util/state/api": ["test_state_totals.py", "test_state.py"],
}
#: How often the unchanged tests of a module run before it is given up: other programs may hold one run up.
TRIES = 2
AT = "only places at these lines, as actor.py:120, separated by commas; every change of them"
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is"}
SWAPPED |= {"in": "not in", "not in": "in", "+": "-", "-": "+", "and": "or", "or": "and"}
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is"}
SIGNS |= {
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
    ast.And: "and",
    ast.Or: "or",
}


@dataclass(frozen=True)
class Place:
    """One change: these bytes of the source become this text."""

    line: int
    what: str
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """The source with the change made."""
        return source[: self.start] + self.text.encode() + source[self.end :]


@dataclass(frozen=True)
class Measured:
    """What became of the changes to some modules."""

    #: How many changes were made.
    tried: int
    #: Those that no test noticed.
    survivors: list[str]
    #: The modules whose tests fail without a change, so that they could tell nothing.
    given_up: list[str]


class Finder:
    """Finds what can be changed in a source."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.negative: set[ast.AST] = set()
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def places(self) -> list[Place]:
        """Every change, in the order of the source."""
        found = [place for node in ast.walk(ast.parse(self.source)) for place in self._of(node)]
        return sorted(found, key=lambda place: (place.start, place.end, place.text))

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self.source[start:end].decode()

    def _of(self, node: ast.AST) -> Iterator[Place]:
        match node:
            case ast.If() | ast.While() | ast.IfExp() if "TYPE_CHECKING" not in self._text(node.test):
                text = self._text(node.test)
                yield self._place(node.test, f"not ({text})", f"condition negated: {text.splitlines()[0]}")
            case ast.Compare(left, [operator], [right]) if type(operator) in SIGNS:
                yield from self._swap(left, operator, right)
            case ast.BinOp(left, operator, right) if type(operator) in SIGNS:
                yield from self._swap(left, operator, right)
            case ast.BoolOp(operator, [left, right, *_]):
                yield from self._swap(left, operator, right)
            case ast.Constant(bool() as value):
                yield self._place(node, str(not value), f"{value} becomes {not value}")
            case ast.UnaryOp(ast.USub(), ast.Constant(int()) as number):
                self.negative.add(number)  # -1 and -2 both stand for none
            case ast.Constant(int() as value) if node not in self.negative:
                yield self._place(node, str(value + 1), f"{value} becomes {value + 1}")
            case ast.Expr(ast.Call()) | ast.AugAssign():
                yield self._place(node, "pass", f"skipped: {self._text(node).splitlines()[0]}")

    def _place(self, node: ast.expr | ast.stmt, text: str, what: str) -> Place:
        return Place(node.lineno, what, *self._span(node), text)

    def _swap(self, left: ast.expr, operator: ast.AST, right: ast.expr) -> Iterator[Place]:
        sign = SIGNS[type(operator)]
        start, end = self._span(left)[1], self._span(right)[0]
        between = self.source[start:end]
        if between.count(sign.encode()) == 1:
            at = start + between.index(sign.encode())
            yield Place(left.lineno, f"{sign} becomes {SWAPPED[sign]}", at, at + len(sign), SWAPPED[sign])


def passes(package: Path, tests: list[Path], limit: float) -> bool:
    """Whether the tests pass in time with the package that lies in this folder."""
    env = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        f"--timeout={limit}",
        *map(str, tests),
    ]
    return run(command, ROOT, env, 4 * limit)


def measure(
    sources: Path, tests: dict[str, list[Path]], seed: int, n: int, end: float, at: Container[str] | None = None
) -> Measured:
    """Makes changes to the modules of a folder.

    Args:
        at: Lines such as ``actor.py:120``; only places there are changed. All places when it is None.

    Returns:
        What became of the changes. Modules whose tests fail without a change are left out, and named.
    """
    chosen = [
        (name, place)
        for name in sorted(tests)
        for place in Finder((sources / name).read_bytes()).places()
        if at is None or f"{name}:{place.line}" in at
    ]
    random.Random(seed).shuffle(chosen)
    took: dict[str, float] = {}
    tried, survivors = 0, []
    given_up: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        copy = Path(folder) / "package"
        shutil.copytree(sources, copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__"))
        for name, place in chosen:
            if tried == n or time.monotonic() > end:
                break
            if name in given_up:
                continue
            if name not in took:
                for _ in range(TRIES):
                    began = time.monotonic()
                    if passes(copy, tests[name], 300):
                        took[name] = time.monotonic() - began
                        break
                else:
                    given_up.append(name)
                    print(f"given up: the unchanged tests of {name} fail {TRIES} times", flush=True)
                    continue
            file = copy / name
            file.unlink()
            file.write_bytes(place.apply((sources / name).read_bytes()))
            if passes(copy, tests[name], 3 * took[name] + 20):
                survivors.append(f"{name}:{place.line}: {place.what}")
                print("survived:", survivors[-1], flush=True)
            file.unlink()
            file.symlink_to(sources / name)
            tried += 1
    return Measured(tried, survivors, given_up)


def main() -> int:
    """Reads the command line, measures, and prints the rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="chooses the places")
    parser.add_argument("-n", type=int, default=10, help="how many changes")
    parser.add_argument("--minutes", type=float, default=60, help="no change is begun after so many minutes")
    parser.add_argument("--modules", default="", help="modules of TESTS, separated by commas; all unless given")
    parser.add_argument("--strict", action="store_true", help="fail when the tests notice less than is wanted")
    parser.add_argument("-at", "--at", default="", help=AT)
    options = parser.parse_args()
    names = options.modules.split(",") if options.modules else list(TESTS)
    if unknown := [name for name in names if name not in TESTS]:
        parser.error(f"the module {unknown[0]} is not in the table TESTS of {__file__}")
    tests = {f"eagleray/{name}.py": [ROOT / "tests/e2e" / test for test in TESTS[name]] for name in names}
    at = None
    if options.at:
        at = [f"eagleray/{name.removeprefix('python/').removeprefix('eagleray/')}" for name in options.at.split(",")]
        if unknown := [line for line in at if line.partition(":")[0] not in tests]:
            parser.error(f"{unknown[0]} is in no module of the table TESTS of {__file__}")
        options.n = sys.maxsize
    end = time.monotonic() + 60 * options.minutes
    found = measure(ROOT / "python", tests, options.seed, options.n, end, at)
    tried, noticed = found.tried, found.tried - len(found.survivors)
    share = noticed / max(1, tried)
    verdict = "enough" if share >= WANTED else "too few"
    line = f"{noticed} of {tried} changes noticed, {100 * share:.1f} % (wanted {100 * WANTED:.0f} %)"
    print(f"{'Python':20} {line}: {verdict}")
    if found.given_up:
        print(f"not measured, for their unchanged tests fail: {', '.join(found.given_up)}")
        return 2
    return int(options.strict and share < WANTED)


if __name__ == "__main__":
    sys.exit(main())
