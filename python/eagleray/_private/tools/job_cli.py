"""The command ``eagleray job``: submits jobs and shows what becomes of them."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from eagleray._private.session import node
from eagleray._private.tools.terminal import Colours, Failure, Parser, add_log_flags
from eagleray.exceptions import AuthenticationError
from eagleray.job_submission import JobDetails, JobStatus, JobSubmissionClient

_HEADERS = "RAY_JOB_HEADERS"
_PAUSE = 0.5


def main(args: Sequence[str]) -> int:
    """Runs ``eagleray job`` with these words and returns its exit status."""
    given = parser().parse_args(args)
    try:
        return int(given.run(given) or 0)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        print("\neagleray job: interrupted; the job goes on", file=sys.stderr)
        return 130
    except Failure as problem:
        print(f"eagleray job {given.command}: {problem}", file=sys.stderr)
        return problem.status
    except (AuthenticationError, ConnectionError, RuntimeError) as problem:
        print(f"eagleray job {given.command}: {problem}", file=sys.stderr)
        return 1
    except (ValueError, TypeError, OSError) as problem:
        print(f"eagleray job {given.command}: {problem}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Returns the parser of these commands."""
    made = Parser(prog="eagleray job", description="Submits jobs, and shows and ends them.")
    commands = made.add_subparsers(dest="command", required=True, parser_class=Parser)

    submit = commands.add_parser("submit", help="run a shell command on the cluster")
    submit.add_argument("--submission-id", metavar="NAME", help="the job's name; made up if it is not given")
    submit.add_argument("--job-id", metavar="NAME", help="the old name of --submission-id")
    submit.add_argument("--working-dir", metavar="DIR", help="the folder that is uploaded, in which the command runs")
    submit.add_argument("--runtime-env", metavar="FILE", help="a YAML file with the runtime environment")
    submit.add_argument("--runtime-env-json", metavar="JSON", help="the runtime environment")
    submit.add_argument("--metadata-json", metavar="JSON", help="texts that are kept with the job")
    submit.add_argument("--entrypoint-num-cpus", metavar="N", type=float, help="CPUs for the command itself")
    submit.add_argument("--entrypoint-num-gpus", metavar="N", type=float, help="GPUs for the command itself")
    submit.add_argument("--entrypoint-memory", metavar="BYTES", type=int, help="memory for the command itself")
    submit.add_argument("--entrypoint-resources", metavar="JSON", help="custom resources for the command itself")
    submit.add_argument(
        "--entrypoint-label-selector", metavar="JSON", help="the labels that the command's node must have"
    )
    submit.add_argument("--no-wait", action="store_true", help="do not show the output until the job has ended")
    submit.add_argument("entrypoint", nargs=argparse.REMAINDER, help="the command, after -- or after the last flag")
    submit.set_defaults(run=_submit)

    status = commands.add_parser("status", help="show a job's status")
    status.set_defaults(run=_status)
    stop = commands.add_parser("stop", help="end a job")
    stop.add_argument("--no-wait", action="store_true", help="do not wait until the job has ended")
    stop.set_defaults(run=_stop)
    logs = commands.add_parser("logs", help="show what a job has written")
    logs.add_argument("-f", "--follow", action="store_true", help="until the job has ended")
    logs.set_defaults(run=_logs)
    delete = commands.add_parser("delete", help="remove the record of a job that has ended")
    delete.set_defaults(run=_delete)
    for command in (status, stop, logs, delete):
        command.add_argument("job_id", metavar="NAME", help="the name of the job")
    lists = commands.add_parser("list", help="list all jobs")
    lists.set_defaults(run=_list)

    for command in (submit, status, stop, logs, delete, lists):
        command.add_argument(
            "--address",
            metavar="URL",
            help="http://HOST:8265 of the head, or an address as for init(); RAY_API_SERVER_ADDRESS and RAY_ADDRESS "
            "come before it",
        )
        command.add_argument("--headers", metavar="JSON", help=f"headers of each request (default: ${_HEADERS})")
        command.add_argument(
            "--verify", default="true", metavar="BOOL|PATH", help="check the certificate of https, or with which file"
        )
        add_log_flags(command)
    for command in (submit, status, lists):
        command.add_argument("--json", action="store_true", help="write JSON")
    return made


def _client(given: argparse.Namespace) -> JobSubmissionClient:
    text, name = given.headers, "--headers"
    if text is None:
        text, name = os.environ.get(_HEADERS), _HEADERS
    headers = _object(name, text) if text else None
    truth = {"true": True, "false": False}
    verify: bool | str = truth.get(str(given.verify).lower(), str(given.verify))
    return JobSubmissionClient(given.address, headers=headers, verify=verify)


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Failure(f"{name}: {text[:200]!r} is not JSON ({problem}); expected is '{{\"key\": value}}'", 2) from None
    if not isinstance(found, dict):
        raise Failure(f"{name}: {text[:200]!r} is not a JSON object; expected is '{{\"key\": value}}'", 2)
    return found


def _environment(given: argparse.Namespace) -> dict[str, Any]:
    if given.runtime_env is not None and given.runtime_env_json is not None:
        raise Failure("--runtime-env and --runtime-env-json say the same: give one of them", 2)
    made: dict[str, Any] = {}
    if given.runtime_env_json is not None:
        made = _object("--runtime-env-json", given.runtime_env_json)
    elif given.runtime_env is not None:
        made = _yaml(given.runtime_env)
    if given.working_dir is not None:
        if "working_dir" in made:
            print("eagleray job submit: --working-dir replaces the working_dir of the file", file=sys.stderr)
        made["working_dir"] = given.working_dir
    return made


def _yaml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            done = subprocess.run(
                [os.environ.get("EAGLERAY_BIN") or node.BINARY, "yaml-json"], stdin=file, capture_output=True
            )
    except OSError as problem:
        raise Failure(f"--runtime-env: {problem}", 2) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix("eagleray: ")
        raise Failure(f"--runtime-env: {path} is not YAML: {said}", 2)
    found = json.loads(done.stdout)
    if not isinstance(found, dict):
        raise Failure(f"--runtime-env: {path} must have the fields of a runtime environment, one a line", 2)
    return found


def _submit(given: argparse.Namespace) -> int:
    words = given.entrypoint[1:] if given.entrypoint[:1] == ["--"] else given.entrypoint
    if not words:
        raise Failure("no command is given: write it behind --, as in: eagleray job submit -- python program.py", 2)
    options = {
        "submission_id": given.submission_id or given.job_id,
        "runtime_env": _environment(given),
        "metadata": _object("--metadata-json", given.metadata_json) if given.metadata_json else None,
        "entrypoint_num_cpus": given.entrypoint_num_cpus,
        "entrypoint_num_gpus": given.entrypoint_num_gpus,
        "entrypoint_memory": given.entrypoint_memory,
        "entrypoint_resources": (
            _object("--entrypoint-resources", given.entrypoint_resources) if given.entrypoint_resources else None
        ),
        "entrypoint_label_selector": (
            _object("--entrypoint-label-selector", given.entrypoint_label_selector)
            if given.entrypoint_label_selector
            else None
        ),
    }
    client = _client(given)
    name = client.submit_job(entrypoint=shlex.join(words), **options)
    colour = Colours(given.log_color)
    if given.json and given.no_wait:
        print(json.dumps({"submission_id": name}), flush=True)
    elif not given.json:
        print(f"Job submission server address: {client.get_address()}")
        print(colour(f"Job '{name}' submitted successfully", "green", "bold"))
        print("Next steps")
        for text, command in (("see its output", "logs"), ("see its status", "status"), ("end it", "stop")):
            print(f"  {text:15} {colour(f'eagleray job {command} {name}', 'bold')}")
        print(flush=True)
    if given.no_wait:
        return 0
    asyncio.run(_follow(client, name, quiet=given.json))
    return _tell(client.get_job_info(name), colour, given)


async def _follow(client: JobSubmissionClient, name: str, quiet: bool = False) -> None:
    async for piece in client.tail_job_logs(name):
        print(piece, end="", flush=True, file=sys.stderr if quiet else sys.stdout)


def _tell(job: JobDetails, colour: Colours, given: argparse.Namespace) -> int:
    """Writes what a job's status is, and returns the exit status that says it."""
    failed = int(job.status is JobStatus.FAILED)
    if given.json:
        print(json.dumps(job.dict()))
        return failed
    name = job.submission_id or job.job_id
    if job.status is JobStatus.SUCCEEDED:
        print(colour(f"Job '{name}' succeeded", "green", "bold"))
    elif job.status is JobStatus.STOPPED:
        print(colour(f"Job '{name}' was stopped", "yellow"))
    elif job.status is JobStatus.FAILED:
        print(colour(f"Job '{name}' failed", "red", "bold"))
        print(f"Status message: {job.message}")
    else:
        print(f"Status for job '{name}': {job.status}")
        print(f"Status message: {job.message}")
    if given.verbose:
        for key, value in job.dict().items():
            if value is not None and key not in ("message", "status"):
                print(f"  {key}: {value}")
    return failed


def _status(given: argparse.Namespace) -> int:
    _tell(_client(given).get_job_info(given.job_id), Colours(given.log_color), given)
    return 0


def _stop(given: argparse.Namespace) -> None:
    client = _client(given)
    print(f"Attempting to stop job '{given.job_id}'")
    client.stop_job(given.job_id)
    if given.no_wait:
        return
    while True:
        job = client.get_job_info(given.job_id)
        if job.status.is_terminal():
            given.json = False
            _tell(job, Colours(given.log_color), given)
            return
        time.sleep(_PAUSE)


def _logs(given: argparse.Namespace) -> int:
    client = _client(given)
    if not given.follow:
        print(client.get_job_logs(given.job_id), end="")
        return 0
    asyncio.run(_follow(client, given.job_id))
    given.json = False
    _tell(client.get_job_info(given.job_id), Colours(given.log_color), given)
    return 0  # as under Ray: the output was shown


def _delete(given: argparse.Namespace) -> None:
    _client(given).delete_job(given.job_id)
    print(f"Job '{given.job_id}' deleted successfully")


def _list(given: argparse.Namespace) -> None:
    jobs = _client(given).list_jobs()
    if given.json:
        print(json.dumps([job.dict() for job in jobs]))
        return
    if given.verbose:
        for job in jobs:
            print("\n".join(f"{field.name}: {getattr(job, field.name)}" for field in dataclasses.fields(job)), "\n")
        return
    colour = Colours(given.log_color)
    rows = [("SUBMISSION ID", "JOB ID", "TYPE", "STATUS", "STARTED", "ENTRYPOINT")]
    for job in jobs:
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job.start_time / 1000)) if job.start_time else ""
        rows.append(
            (job.submission_id or "", job.job_id or "", job.type.value, job.status.value, began, job.entrypoint)
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    shade = {"FAILED": "red", "SUCCEEDED": "green", "STOPPED": "yellow"}
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        if number and row[3] in shade:
            cells[3] = colour(cells[3], shade[row[3]])
        line = "  ".join([*cells, row[-1].replace("\n", " ")]).rstrip()
        print(line if number else colour(line, "bold"))
