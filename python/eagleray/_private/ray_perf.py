"""Ray's name for the suite of ``eagleray microbenchmark``: ``python -m eagleray._private.ray_perf``, or ``main()``."""

import sys

from eagleray._private.tools.microbenchmark import REST, RUNS, SECONDS, Result, run


def main(results: list[Result] | None = None) -> list[Result]:
    """Runs the suite in a session of its own; the results, name, mean and deviation, follow those that were given."""
    report = run(None, SECONDS, RUNS, REST, sys.stdout)
    if report.failed:
        raise RuntimeError("; ".join(f"{name}: {why}" for name, why in report.failed.items()))
    return [*(results or []), *report.results]


if __name__ == "__main__":
    main()
