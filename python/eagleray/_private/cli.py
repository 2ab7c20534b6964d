"""The ``eagleray`` command: runs the commands that are written in Python, or becomes the package's binary."""

import os
import sys

BINARY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_bin", "eagleray")
_HERE = ("get", "list", "memory", "summary")
_ACTIONS = ("kill-actor", "stack", "timeline")
MORE = """
  run      run a Python program with `import ray` meaning Eagle Ray
  ray-libs install the files of Ray Data, Tune, Train and Ray's other libraries
  job      submit jobs, show them and end them
  logs     show log files of nodes, actors, tasks, workers and jobs
  stack    show what the workers of this machine's node do now
  timeline write when calls ran, for Chrome's trace viewer and Perfetto
  kill-actor
           end a named actor
  get-auth-token
           print the cluster's token
  completion
           write a script that completes commands and flags in a shell
  memory   show who holds objects, and from which line of the program
  list     list actors, jobs, nodes, objects, placement groups, runtime environments, tasks or workers
  get      show one of them by its id
  summary  count actors, objects or tasks
  microbenchmark
           measure what `ray microbenchmark` does, under the same names
  trace-report
           show where the time of calls goes, by stage
"""


def main() -> None:
    """Runs a command of this package, or replaces this process by the binary: signals and status are its own."""
    if sys.argv[1:2] == ["run"]:
        from eagleray._private.tools import run_program

        sys.exit(run_program.main(sys.argv[2:]))
    # The daemon starts its workers with the interpreter that the command was installed for.
    os.environ.setdefault("EAGLERAY_PYTHON", sys.executable)
    if sys.argv[1:2] and sys.argv[1] in _HERE:
        from eagleray._private.tools import state_cli

        sys.exit(state_cli.main(sys.argv[1:]))
    if sys.argv[1:2] and sys.argv[1] in _ACTIONS:
        from eagleray._private.tools import actions_cli

        sys.exit(actions_cli.main(sys.argv[1:]))
    if sys.argv[1:2] == ["completion"]:
        from eagleray._private.tools import completion

        sys.exit(completion.main(sys.argv[2:], BINARY, MORE))
    if sys.argv[1:2] == ["job"]:
        from eagleray._private.tools import job_cli

        sys.exit(job_cli.main(sys.argv[2:]))
    if sys.argv[1:2] == ["ray-libs"]:
        from eagleray._private.tools import libraries_cli

        sys.exit(libraries_cli.main(sys.argv[2:]))
    if sys.argv[1:2] == ["logs"]:
        from eagleray._private.tools import logs_cli

        sys.exit(logs_cli.main(sys.argv[2:]))
    if sys.argv[1:2] == ["microbenchmark"]:
        from eagleray._private.tools import microbenchmark

        sys.exit(microbenchmark.main(sys.argv[2:]))
    if sys.argv[1:2] == ["trace-report"]:
        from eagleray._private.tools import trace_report

        sys.exit(trace_report.main(sys.argv[2:]))
    if sys.argv[1:2] == ["get-auth-token"]:
        from eagleray._private.tools import token_cli

        sys.exit(token_cli.main(sys.argv[2:]))
    if sys.argv[1:]:
        from eagleray._private.tools import refused

        refused.refuse("eagleray", sys.argv[1])
    if sys.argv[1:2] in ([], ["-h"], ["--help"], ["help"]):
        import subprocess

        done = subprocess.run([BINARY, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
        print(done.stdout.rstrip("\n") + MORE, end="")
        sys.exit(done.returncode)
    os.execv(BINARY, [BINARY, *sys.argv[1:]])
