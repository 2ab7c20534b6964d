"""The actor that runs the entrypoint of a job, on the node and with the resources that the scheduler has given it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import eagleray
from eagleray._private.calls import environments
from eagleray._private.jobs import model, records
from eagleray._private.jobs.model import JobErrorType, JobStatus
from eagleray._private.session import heads, job_config, node
from eagleray._private.state import Session, process

#: The variable in the environment of each process of a job.
MARK = "EAGLERAY_SUBMISSION_ID"
_SESSION = "EAGLERAY_ADDRESS"
STOP_SIGNAL = "RAY_JOB_STOP_SIGNAL"
STOP_WAIT = "RAY_JOB_STOP_WAIT_TIME_S"
#: As many characters of the log are in the message of a job that has failed.
_TAIL = 20_000


class JobSupervisor:
    """Runs one job, and ends with it.

    Args:
        submission_id: The job.
    """

    def __init__(self, submission_id: str) -> None:
        self._id = submission_id
        self._session: Session = process.require()
        self._guard: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = False
        self._done = threading.Event()

    def start(self, entrypoint: str, metadata: dict[str, str], gpus: bool) -> None:
        """Starts the job. The job does not depend on who has called this.

        Args:
            entrypoint: The shell command.
            metadata: For the driver of the job.
            gpus: Whether the entrypoint has asked for GPUs; without, it sees all of the node.
        """
        threading.Thread(target=self._run, args=(entrypoint, metadata, gpus), name="job", daemon=True).start()

    def wait(self) -> None:
        """Returns when the record of the job says how it has ended."""
        self._done.wait()

    def stop(self) -> None:
        """Ends the job. Its record says when it has ended."""
        with self._lock:
            self._stopped = True
            if self._guard is not None and self._guard.stdin is not None:
                with contextlib.suppress(OSError):
                    self._guard.stdin.close()

    def _run(self, entrypoint: str, metadata: dict[str, str], gpus: bool) -> None:
        try:
            fields = self._job(entrypoint, metadata, gpus)
        except Exception as problem:
            fields = {
                "status": JobStatus.FAILED,
                "error_type": JobErrorType.JOB_ENTRYPOINT_COMMAND_START_ERROR,
                "message": f"The entrypoint could not be started: {type(problem).__name__}: {problem}",
            }
        try:
            records.change(self._session, self._id, **fields)
            self._done.set()
        finally:  # without a record, the server of jobs notes that this actor has died
            threading.Timer(1.0, os._exit, (0,)).start()  # after an answer to wait()
            eagleray.kill(eagleray.get_runtime_context().current_actor)

    def _job(self, entrypoint: str, metadata: dict[str, str], gpus: bool) -> dict[str, Any]:
        variables = self._variables(metadata, gpus)
        log = records.log_path(self._session.session_dir, self._id)
        with self._lock:
            if self._stopped:
                return {"status": JobStatus.STOPPED}
            self._guard = self._start_guard(entrypoint, log, variables)
        record = records.change(
            self._session, self._id, status=JobStatus.RUNNING, driver_node_id=self._session.node_id.hex()
        )
        if record is None or record.status.is_terminal():
            self.stop()
        assert self._guard.stdout is not None
        said = self._guard.stdout.read(4096)
        self._guard.wait()
        if self._guard.returncode != 0 or not said:
            _sweep(self._id, self._session.session_dir)
            return {
                "status": JobStatus.STOPPED if self._stopped else JobStatus.FAILED,
                "error_type": None if self._stopped else JobErrorType.JOB_ENTRYPOINT_COMMAND_START_ERROR,
                "message": f"The guard of the entrypoint has ended with status {self._guard.returncode}.{_end(log)}",
            }
        return self._ended(json.loads(said), log)

    def _ended(self, how: dict[str, Any], log: str) -> dict[str, Any]:
        """Returns what the record says of an entrypoint that has ended."""
        killed = int(how.get("signal", 0))
        fields: dict[str, Any] = {"driver_exit_code": -killed if killed else int(how["code"])}
        lost = how.get("lost", 0)
        note = f" {lost} bytes of its output could not be written to {log}." if lost else ""
        if how.get("stopped") and self._stopped:
            return {**fields, "status": JobStatus.STOPPED, "message": f"Job was intentionally stopped.{note}"}
        if fields["driver_exit_code"] == 0:
            return {**fields, "status": JobStatus.SUCCEEDED, "message": f"Job finished successfully.{note}"}
        what = f"was killed by {signal.Signals(killed).name}" if killed else f"failed with exit code {how['code']}"
        return {
            **fields,
            "status": JobStatus.FAILED,
            "error_type": JobErrorType.JOB_ENTRYPOINT_COMMAND_ERROR,
            "message": f"Job entrypoint command {what}.{note}{_end(log)}",
        }

    def _start_guard(self, entrypoint: str, log: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
        binary = os.environ.get("EAGLERAY_BIN") or node.BINARY
        wait = variables.get(STOP_WAIT, "3")
        stop = variables.get(STOP_SIGNAL, "SIGTERM")
        command = [binary, "job-guard", f"--log={log}", f"--stop-signal={stop}", f"--stop-wait={wait}"]
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with open(log, "ab") as errors:  # where the guard says why it cannot begin
            return subprocess.Popen(
                [*command, f"--command={entrypoint}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=variables,
                start_new_session=True,
            )

    def _variables(self, metadata: dict[str, str], gpus: bool) -> dict[str, str]:
        """Returns the environment of the entrypoint: that of a task, and where the cluster is."""
        session = self._session
        variables = dict(os.environ)
        for name in (environments.KEY_VARIABLE, environments.USER_VARIABLE, *environments.SECRETS):
            variables.pop(name, None)
        if "OMP_NUM_THREADS" not in environments.user_variables(session.env.spec):
            variables.pop("OMP_NUM_THREADS", None)  # a task without a CPU gets one thread, and the entrypoint is none
        if not gpus:
            variables.pop("CUDA_VISIBLE_DEVICES", None)
        addresses = heads.heads_of(session.session_dir)
        variables[_SESSION] = session.session_dir
        variables["RAY_ADDRESS"] = addresses[0] if addresses else session.session_dir
        variables[MARK] = self._id
        variables["PYTHONUNBUFFERED"] = "1"
        ahead = _ahead(session)
        if ahead:
            variables["PYTHONPATH"] = os.pathsep.join([*ahead, *filter(None, [variables.get("PYTHONPATH")])])
        own = os.path.dirname(sys.executable)
        if own not in variables.get("PATH", "").split(os.pathsep):
            variables["PATH"] = os.pathsep.join([own, *filter(None, [variables.get("PATH")])])
        full = {**metadata, model.SUBMISSION_KEY: self._id}
        full.setdefault(model.NAME_KEY, self._id)
        variables[job_config.VARIABLE] = job_config.text(session.env, full)
        return variables


def _ahead(session: Session) -> list[str]:
    """Returns the folders of modules that the runtime environment of this actor has added."""
    count = len(session.env.runtime_env.get("py_modules", ())) + ("working_dir" in session.env.runtime_env)
    return [str(path) for path in session.env.spec["sys_path"][:count]]


def _end(log: str) -> str:
    """Returns the end of a log, for a message."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            text = file.read().decode(errors="replace").strip()
    except OSError as problem:
        return f" Its log cannot be read: {problem}"
    return f" The last of its output:\n{text}" if text else " It has written nothing."


def _sweep(submission_id: str, session_dir: str) -> None:
    """Kills what a job has left whose guard was killed. A job of another session may have the same id."""
    mark, session = f"{MARK}={submission_id}".encode(), f"{_SESSION}={session_dir}".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                found = file.read().split(b"\0")
            named = [text for text in found if text.startswith(_SESSION.encode() + b"=")]
            if mark in found and (session in named or not named):
                os.kill(int(name), signal.SIGKILL)
