"""Starts, watches and ends the jobs of a cluster.

What is known of a job is in its record. The supervisor of a job writes there what becomes of it; the manager writes
what the supervisor cannot: that it never began, or that it has died. So any number of managers may work on one cluster,
one after the other or at once.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import os
import threading
from typing import Any

import eagleray
from eagleray import exceptions
from eagleray._private.jobs import model, records, uploads
from eagleray._private.jobs.model import JobDetails, JobErrorType, JobInfo, JobStatus, JobType, known
from eagleray._private.jobs.requests import Submission
from eagleray._private.jobs.supervisor import JobSupervisor
from eagleray._private.session import census
from eagleray._private.state import Session, process
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

#: The namespace of the supervisors' names, and the prefix of these. Both are Ray's.
NAMESPACE = "SUPERVISOR_ACTOR_RAY_NAMESPACE"
_ACTOR = "_ray_internal_job_actor_"
_START_TIMEOUT = "RAY_JOB_START_TIMEOUT_SECONDS"
_USUAL_START_SECONDS = 900.0
_STOP_SECONDS = 10.0
_log = logging.getLogger("eagleray.jobs")


class NotFound(LookupError):
    """There is no such job."""


class Refused(RuntimeError):
    """The job is in no state for that."""


class NotSubmitted(Refused):
    """The job is that of a program that was started by hand: only submitted jobs can do that."""


class Manager:
    """The jobs of the cluster of this process's session.

    Args:
        folder: The session's folder, where uploaded packages are kept.
    """

    def __init__(self, folder: str) -> None:
        self._session: Session = process.require()
        self.uploads = uploads.Uploads(os.path.join(folder, "job-packages"), self._used)
        self._lock = threading.Lock()
        self._watched: dict[str, concurrent.futures.Future[Any]] = {}
        self._ends: dict[str, dict[str, Any]] = {}  # what the records say when the supervisors have ended
        self._actor = eagleray.remote(JobSupervisor)

    def adopt(self) -> None:
        """Watches the jobs that another manager has started."""
        for submission_id, record in records.every(self._session).items():
            if not record.status.is_terminal():
                self._adopt(submission_id)

    def submit(self, job: Submission) -> None:
        """Starts a job.

        Raises:
            Refused: there is a job with this id.
            ValueError, TypeError: the request is wrong.
        """
        runtime_env = self.uploads.resolve(job.runtime_env or {})
        start_within = self._start_seconds(runtime_env)
        metadata = dict(job.metadata or {})
        record = JobInfo(
            status=JobStatus.PENDING,
            entrypoint=job.entrypoint,
            start_time=records.milliseconds(),
            metadata=metadata,
            runtime_env=job.runtime_env or {},
            entrypoint_num_cpus=job.entrypoint_num_cpus,
            entrypoint_num_gpus=job.entrypoint_num_gpus,
            entrypoint_memory=job.entrypoint_memory,
            entrypoint_resources=job.entrypoint_resources,
        )
        if not records.add(self._session, job.id, record):
            raise Refused(f"Job with submission_id {job.id} already exists. Please use a different submission_id.")
        try:
            actor = self._actor.options(**self._options(job, runtime_env)).remote(job.id)
            actor.start.remote(job.entrypoint, metadata, bool(job.entrypoint_num_gpus))
            self._watch(job.id, actor, start_within)
        except (ValueError, TypeError):
            records.remove(self._session, job.id)
            raise
        except Exception as problem:
            _log.exception("the job %s cannot start", job.id)
            records.change(self._session, job.id, **_failure(problem))

    def stop(self, name: str) -> bool:
        """Begins to end a job, and returns whether it ran.

        Raises:
            NotFound: there is no such job.
            NotSubmitted: it was not submitted.
        """
        submission_id, record = self._find(name)
        if record.status.is_terminal():
            return False
        actor = self._supervisor(submission_id)
        if actor is None:
            self._lost(submission_id)
            return False
        if record.status is JobStatus.PENDING:
            with self._lock:
                self._ends[submission_id] = {"status": JobStatus.STOPPED}
            watched = self._watch(submission_id, actor)
            eagleray.kill(actor)
            concurrent.futures.wait([watched], _STOP_SECONDS)
            self._concluded(submission_id)
            return True
        with contextlib.suppress(exceptions.RayActorError):  # it has just ended
            eagleray.get(actor.stop.remote(), timeout=_STOP_SECONDS)
        return True

    def delete(self, name: str) -> None:
        """Removes the record of a job that has ended.

        Raises:
            NotFound: there is no such job.
            Refused: it has not ended.
            NotSubmitted: it was not submitted.
        """
        submission_id, record = self._find(name)
        if not record.status.is_terminal():
            raise Refused(f"the job {submission_id} is {record.status}: only a job that has ended can be deleted")
        records.remove(self._session, submission_id)

    def every(self) -> list[JobDetails]:
        """Returns all jobs: those that were submitted, and the programs that have called ``init`` by themselves."""
        drivers = records.drivers(self._session)
        rows = [self._details(name, record, drivers) for name, record in records.every(self._session).items()]
        taken = {row.job_id for row in rows if row.job_id}
        return rows + [row for row in self._drivers() if row.job_id not in taken]

    def details(self, name: str) -> JobDetails:
        """Returns one job.

        Args:
            name: Its submission id, or the id of a job of the cluster.

        Raises:
            NotFound: there is no such job.
        """
        record = records.get(self._session, name)
        if record is not None:
            return self._details(name, self._fresh(name, record), records.drivers(self._session))
        for row in self.every():
            if row.job_id == name:
                return row
        raise NotFound(f"Job {name} does not exist")

    def record(self, name: str) -> tuple[str, JobInfo]:
        """Returns id and record of a submitted job.

        Raises:
            NotFound: there is no such job.
            NotSubmitted: it was not submitted.
        """
        submission_id, record = self._find(name)
        return submission_id, self._fresh(submission_id, record)

    def _details(self, submission_id: str, record: JobInfo, drivers: dict[str, dict[str, str]]) -> JobDetails:
        driver = drivers.get(submission_id)
        return JobDetails(
            type=JobType.SUBMISSION,
            submission_id=submission_id,
            job_id=driver["id"] if driver else None,
            driver_info=driver,  # type: ignore[arg-type] # it makes a DriverInfo of it
            **known(JobDetails, model.as_json(record)),
        )

    def _drivers(self) -> list[JobDetails]:
        found = census.take(None, 10.0, head=True)
        return [JobDetails(**known(JobDetails, row)) for row in found.programs()]

    def _find(self, name: str) -> tuple[str, JobInfo]:
        record = records.get(self._session, name)
        if record is not None:
            return name, record
        row = self.details(name)
        record = records.get(self._session, row.submission_id) if row.submission_id else None
        if row.submission_id is None or record is None:
            raise NotSubmitted(
                f"{name} is the job of a program that was not submitted: only submitted jobs can do that"
            )
        return row.submission_id, record

    def _fresh(self, submission_id: str, record: JobInfo) -> JobInfo:
        """Looks whether a job still has its supervisor if nobody here watches it."""
        with self._lock:
            watched = submission_id in self._watched
        if record.status.is_terminal() or watched:
            return record
        self._adopt(submission_id)
        return records.get(self._session, submission_id) or record

    def _adopt(self, submission_id: str) -> None:
        actor = self._supervisor(submission_id)
        if actor is not None:
            self._watch(submission_id, actor)
        else:
            self._lost(submission_id)

    def _lost(self, submission_id: str) -> None:
        """Notes that a job has no supervisor, unless it is just being started by another manager."""
        record = records.get(self._session, submission_id)
        if record is None or record.status.is_terminal():
            return
        young = records.milliseconds() - (record.start_time or 0) < 60_000
        if record.status is JobStatus.PENDING and young:
            return
        records.change(self._session, submission_id, **_failure(None))

    def _supervisor(self, submission_id: str) -> Any:
        try:
            return eagleray.get_actor(_ACTOR + submission_id, namespace=NAMESPACE)
        except ValueError:
            return None

    def _watch(
        self, submission_id: str, actor: Any, start_within: float | None = None
    ) -> concurrent.futures.Future[Any]:
        """Watches a supervisor until it ends."""
        with self._lock:
            if submission_id in self._watched:
                return self._watched[submission_id]
            ended: concurrent.futures.Future[Any] = actor.wait.remote().future()
            self._watched[submission_id] = ended
        if start_within is not None:
            timer = threading.Timer(start_within, self._late, (submission_id, actor, start_within))
            timer.daemon = True
            timer.start()
            ended.add_done_callback(lambda _: timer.cancel())
        # The callback of a future may not wait for others, and the record is read and written by calls.
        ended.add_done_callback(
            lambda _: threading.Thread(target=self._concluded, args=(submission_id,), daemon=True).start()
        )
        return ended

    def _concluded(self, submission_id: str) -> None:
        """Completes the record of a job whose supervisor has ended."""
        with self._lock:
            ended = self._watched.get(submission_id)
            end = self._ends.get(submission_id)
        problem = ended.exception() if ended is not None and ended.done() else None
        try:
            records.change(self._session, submission_id, **(end or _failure(problem)))
        except Exception:
            _log.exception("what became of the job %s is not written down", submission_id)
        with self._lock:
            self._watched.pop(submission_id, None)
            self._ends.pop(submission_id, None)

    def _late(self, submission_id: str, actor: Any, seconds: float) -> None:
        """Ends a job that has not started in time."""
        record = records.get(self._session, submission_id)
        if record is None or record.status is not JobStatus.PENDING:
            return
        with self._lock:
            self._ends[submission_id] = {
                "status": JobStatus.FAILED,
                "error_type": JobErrorType.JOB_SUPERVISOR_ACTOR_START_TIMEOUT,
                "message": f"The job has not started within {seconds:g} s. {_START_TIMEOUT} in the environment of the "
                "head, or in env_vars of the runtime environment, changes that time.",
            }
        eagleray.kill(actor)

    def _start_seconds(self, runtime_env: dict[str, Any]) -> float:
        given = runtime_env.get("env_vars")
        text = (given.get(_START_TIMEOUT) if isinstance(given, dict) else None) or os.environ.get(_START_TIMEOUT)
        if not text:
            return _USUAL_START_SECONDS
        try:
            seconds = float(text)
        except (TypeError, ValueError):
            seconds = -1.0
        if not seconds >= 0:  # or not a number
            raise ValueError(f"{_START_TIMEOUT} must be a number of seconds, got {text!r:.100}")
        return min(seconds, threading.TIMEOUT_MAX)

    def _options(self, job: Submission, runtime_env: dict[str, Any]) -> dict[str, Any]:
        options: dict[str, Any] = {
            "name": _ACTOR + job.id,
            "namespace": NAMESPACE,
            "lifetime": "detached",
            "max_concurrency": 16,
            "max_restarts": 0,
            "num_cpus": job.entrypoint_num_cpus or 0,
            "runtime_env": runtime_env,
        }
        if job.entrypoint_num_gpus:
            options["num_gpus"] = job.entrypoint_num_gpus
        if job.entrypoint_memory:
            options["memory"] = int(job.entrypoint_memory)
        if job.entrypoint_resources:
            options["resources"] = job.entrypoint_resources
        if job.entrypoint_label_selector:
            options["label_selector"] = job.entrypoint_label_selector
        if not job.needs():
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(self._session.node_id.hex(), soft=False)
        return options

    def _used(self) -> set[str]:
        used: set[str] = set()
        for record in records.every(self._session).values():
            if not record.status.is_terminal():
                used |= uploads.uris(record.runtime_env)
        return used


_KINDS: list[tuple[type[Exception], JobErrorType, str]] = [
    (exceptions.RuntimeEnvSetupError, JobErrorType.RUNTIME_ENV_SETUP_FAILURE, "Its runtime environment failed"),
    (
        exceptions.ActorUnschedulableError,
        JobErrorType.JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE,
        "No node can ever run its entrypoint",
    ),
    (exceptions.ActorDiedError, JobErrorType.JOB_SUPERVISOR_ACTOR_DIED, "The actor that supervises it has died"),
]


def _failure(problem: BaseException | None) -> dict[str, Any]:
    """Returns what the record says of a job whose supervisor has ended without a word."""
    kind, text = JobErrorType.JOB_SUPERVISOR_ACTOR_DIED, "The actor that supervises it has died, and the job with it."
    if problem is not None:
        kind, text = JobErrorType.JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE, f"{type(problem).__name__}: {problem}"
        for cls, its, words in _KINDS:
            if isinstance(problem, cls):
                kind, text = its, f"{words}: {problem}"
                break
    return {"status": JobStatus.FAILED, "error_type": kind, "message": f"Job failed. {text}"[:20_000]}
