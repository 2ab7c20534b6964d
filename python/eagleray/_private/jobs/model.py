"""What is known of a job. ``eagleray.job_submission`` has these classes for users."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any, TypeAlias

#: The class of job details has a method ``dict``, so that libraries that evaluate its annotations find that.
_Texts: TypeAlias = dict[str, str]
_Fields: TypeAlias = dict[str, Any]

#: The key of a submission's id in the metadata of its driver.
SUBMISSION_KEY = "job_submission_id"
NAME_KEY = "job_name"


class JobStatus(str, Enum):
    """Where a job is in its life."""

    #: The entrypoint has not begun: its node, its resources or its runtime environment are not there yet.
    PENDING = "PENDING"
    #: The entrypoint runs.
    RUNNING = "RUNNING"
    #: Somebody has stopped the job.
    STOPPED = "STOPPED"
    #: The entrypoint has ended with exit code 0.
    SUCCEEDED = "SUCCEEDED"
    #: The entrypoint has ended in another way, or could not begin.
    FAILED = "FAILED"

    def __str__(self) -> str:
        return self.value

    def is_terminal(self) -> bool:
        """Reports whether the job has ended: its status does not change any more."""
        return self in (JobStatus.STOPPED, JobStatus.SUCCEEDED, JobStatus.FAILED)


class JobErrorType(str, Enum):
    """Why a job has failed."""

    #: The runtime environment could not be made.
    RUNTIME_ENV_SETUP_FAILURE = "RUNTIME_ENV_SETUP_FAILURE"
    #: The job waited too long for its start.
    JOB_SUPERVISOR_ACTOR_START_TIMEOUT = "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"
    #: The actor that supervises the job could not start.
    JOB_SUPERVISOR_ACTOR_START_FAILURE = "JOB_SUPERVISOR_ACTOR_START_FAILURE"
    #: No node of the cluster can ever run the entrypoint.
    JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE = "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE"
    #: The actor that supervises the job failed in another way.
    JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE = "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE"
    #: The actor that supervises the job has died, and the job with it.
    JOB_SUPERVISOR_ACTOR_DIED = "JOB_SUPERVISOR_ACTOR_DIED"
    #: The entrypoint could not be started.
    JOB_ENTRYPOINT_COMMAND_START_ERROR = "JOB_ENTRYPOINT_COMMAND_START_ERROR"
    #: The entrypoint has ended with another exit code than 0.
    JOB_ENTRYPOINT_COMMAND_ERROR = "JOB_ENTRYPOINT_COMMAND_ERROR"


class JobType(str, Enum):
    """How a job has begun."""

    #: It was submitted.
    SUBMISSION = "SUBMISSION"
    #: A program has called ``init``.
    DRIVER = "DRIVER"


@dataclasses.dataclass
class DriverInfo:
    """The program of a job that has called ``init``.

    Attributes:
        id: The id of the job that the program is in the cluster.
        node_ip_address: The address of its node.
        pid: The number of its process, as a text.
    """

    id: str
    node_ip_address: str
    pid: str


_WAITS = {
    JobStatus.RUNNING: "Job is currently running.",
    JobStatus.STOPPED: "Job was intentionally stopped.",
    JobStatus.SUCCEEDED: "Job finished successfully.",
    JobStatus.FAILED: "Job failed.",
}


@dataclasses.dataclass
class JobInfo:
    """The record of a submitted job.

    Attributes:
        status: Where the job is in its life.
        entrypoint: The shell command.
        message: The status in words.
        error_type: Why the job has failed.
        start_time: When it was submitted, in milliseconds since 1970.
        end_time: When it ended, in milliseconds since 1970.
        metadata: What was submitted with it.
        runtime_env: The runtime environment that was submitted with it.
        entrypoint_num_cpus: CPUs for the entrypoint itself.
        entrypoint_num_gpus: GPUs for the entrypoint itself.
        entrypoint_memory: Bytes of memory for the entrypoint itself.
        entrypoint_resources: Custom resources for the entrypoint itself.
        driver_agent_http_address: Always None: nodes have no HTTP server for jobs.
        driver_node_id: The node on which the entrypoint runs or has run.
        driver_exit_code: The exit code of the entrypoint; minus the number of the signal that has ended it.
    """

    status: JobStatus
    entrypoint: str
    message: str | None = None
    error_type: JobErrorType | None = None
    start_time: int | None = None
    end_time: int | None = None
    metadata: dict[str, str] | None = None
    runtime_env: dict[str, Any] | None = None
    entrypoint_num_cpus: float | None = None
    entrypoint_num_gpus: float | None = None
    entrypoint_memory: int | None = None
    entrypoint_resources: dict[str, float] | None = None
    driver_agent_http_address: str | None = None
    driver_node_id: str | None = None
    driver_exit_code: int | None = None

    def __post_init__(self) -> None:
        self.status = JobStatus(self.status)
        if self.error_type is not None:
            self.error_type = JobErrorType(self.error_type)
        if self.message is None:
            self.message = self._pending() if self.status is JobStatus.PENDING else _WAITS[self.status]

    def _pending(self) -> str:
        text = "Job has not started yet."
        if self.entrypoint_num_cpus or self.entrypoint_num_gpus or self.entrypoint_memory or self.entrypoint_resources:
            text += " It waits until a node has the resources of its entrypoint free, or for its runtime environment."
        elif self.runtime_env:
            text += " It waits for its runtime environment."
        return text


@dataclasses.dataclass
class JobDetails:
    """A job as the cluster shows it: a submitted one, or a program that has called ``init`` by itself.

    Attributes:
        type: How the job has begun.
        status: Where it is in its life.
        entrypoint: The command.
        job_id: The id of the job in the cluster; of a submitted job that of the last program that it has run.
        submission_id: The id under which it was submitted.
        driver_info: The program; of a submitted job the last one that called ``init``.
        message: The status in words.
        error_type: Why it has failed.
        start_time: When it began, in milliseconds since 1970.
        end_time: When it ended, in milliseconds since 1970.
        metadata: What was submitted with it.
        runtime_env: The runtime environment that was submitted with it.
        driver_agent_http_address: Always None: nodes have no HTTP server for jobs.
        driver_node_id: The node on which the entrypoint runs or has run.
        driver_exit_code: The exit code of the entrypoint.
    """

    type: JobType
    status: JobStatus
    entrypoint: str
    job_id: str | None = None
    submission_id: str | None = None
    driver_info: DriverInfo | None = None
    message: str | None = None
    error_type: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    metadata: _Texts | None = None
    runtime_env: _Fields | None = None
    driver_agent_http_address: str | None = None
    driver_node_id: str | None = None
    driver_exit_code: int | None = None

    def __post_init__(self) -> None:
        self.type = JobType(self.type)
        self.status = JobStatus(self.status)
        info: Any = self.driver_info
        if isinstance(info, dict):
            self.driver_info = DriverInfo(**info)

    def dict(self) -> dict[str, Any]:
        """Returns the fields as a dictionary of plain values."""
        return {name: _plain(value) for name, value in dataclasses.asdict(self).items()}

    model_dump = dict


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def as_json(record: JobInfo) -> dict[str, Any]:
    """Returns a record as JSON has it."""
    return {name: _plain(value) for name, value in dataclasses.asdict(record).items()}


def known(cls: type, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields that a class has: a newer server may know more."""
    names = {field.name for field in dataclasses.fields(cls)}
    return {name: value for name, value in fields.items() if name in names}
