"""``eagleray microbenchmark``: the suite of ``ray microbenchmark``, under the same names and in the same format."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, TextIO

WARM_SECONDS = 1.0
SECONDS, RUNS, REST = 2.0, 4, 1.0


class Result(NamedTuple):
    """What a line measured: how many per second, over the runs, and their deviation."""

    name: str
    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.name} per second {round(self.mean, 2)} +- {round(self.deviation, 2)}"


class Report(NamedTuple):
    """What a run found, line by line: results, what this version lacks, and errors."""

    about: dict[str, Any]
    results: list[Result]
    missing: dict[str, str]
    failed: dict[str, str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(args: Sequence[str]) -> int:
    """Runs the suite and returns the exit status: 1 when a line failed."""
    given = _parser().parse_args(args)
    try:
        return _run(given)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (ConnectionError, ValueError) as problem:
        print(f"eagleray microbenchmark: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="eagleray microbenchmark",
        description="Measure the lines of `ray microbenchmark`. TESTS_TO_RUN=TEXT measures those whose names contain "
        "the text, TESTS_TO_SKIP=TEXT leaves those out.",
    )
    parser.add_argument("--address", help="the session; RAY_ADDRESS, else one that runs here, else a new one")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, the lines on stderr")
    parser.add_argument("--seconds", type=_positive, default=SECONDS, help="length of a run (%(default)s)")
    parser.add_argument("--runs", type=_count, default=RUNS, help="runs of a line (%(default)s)")
    parser.add_argument("--rest", type=_seconds, default=REST, help="seconds of quiet before a line (%(default)s)")
    return parser


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, not {text!r}") from None
    if not 0 <= number < 1e6:
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 0, not {text}")
    return number


def _positive(text: str) -> float:
    number = _seconds(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


def _run(given: argparse.Namespace) -> int:
    report = run(given.address, given.seconds, given.runs, given.rest, sys.stderr if given.json else sys.stdout)
    if given.json:
        rows = [result._asdict() for result in report.results]
        found = {
            **report.about,
            "unit": "per second",
            "results": rows,
            "not measured": report.missing,
            "failed": report.failed,
        }
        _say(sys.stdout, json.dumps(found, indent=1))
    return 1 if report.failed else 0


def run(address: str | None, seconds: float, runs: int, rest: float, out: TextIO) -> Report:
    """Measures the lines that the environment's filters choose in a session, and writes them as they come."""
    import eagleray as ray
    from eagleray._private.tools.microbenchmark_lines import LINES

    wanted = [line for line in LINES if _chosen(line.name)]
    if not wanted:
        print("eagleray microbenchmark: no line's name passes TESTS_TO_RUN and TESTS_TO_SKIP", file=sys.stderr)
    _say(out, "Tip: set TESTS_TO_RUN='pattern' to run a subset of benchmarks")
    with ray.init(address) as context:
        about = {"version": ray.__version__, "address": context["address"], "resources": ray.cluster_resources()}
        report = Report(about, [], {}, {})
        for line in wanted:
            if line.make is None:
                report.missing[line.name] = line.lacks
                _say(out, f"{line.name}: not measured, Eagle Ray does not have it yet: {line.lacks}")
                continue
            time.sleep(rest)
            try:
                work, size = line.make()
                result = measure(line.name, work, size, seconds, runs)
                del work
            except (ray.exceptions.RayError, ImportError) as problem:
                report.failed[line.name] = f"{type(problem).__name__}: {problem}"
                _say(out, f"{line.name}: failed, {report.failed[line.name].splitlines()[0]}")
                continue
            report.results.append(result)
            _say(out, str(result))
    return report


def _chosen(name: str) -> bool:
    """Whether the filters of the environment let the line be measured: as in Ray, by a part of its name."""
    skip = os.environ.get("TESTS_TO_SKIP")
    return os.environ.get("TESTS_TO_RUN", "") in name and not (skip and skip in name)


def _say(out: TextIO, text: str) -> None:
    print(text, file=out, flush=True)


def measure(name: str, work: Callable[[], Any], size: float, seconds: float, runs: int) -> Result:
    """Warms the work up, then repeats it for each run; it counts ``size`` per call.

    Within a run the clock is read about every tenth of a second of work, as Ray's suite does.
    """
    step = _repeat(work, 1, min(WARM_SECONDS, seconds))[0] // 10 + 1
    rates: list[float] = []
    for _ in range(runs):
        count, took = _repeat(work, step, seconds)
        rates.append(size * count / took)
    return Result(name, statistics.fmean(rates), statistics.pstdev(rates))


def _repeat(work: Callable[[], Any], step: int, seconds: float) -> tuple[int, float]:
    count = 0
    start = time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        for _ in range(step):
            work()
        count += step
    return count, took


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
