"""Submits programs to a cluster as jobs, and tells what becomes of them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Generator
from typing import IO, Any
from urllib.parse import quote

from eagleray._private.jobs import folders, transport
from eagleray._private.jobs.model import (
    DriverInfo,
    JobDetails,
    JobErrorType,
    JobInfo,
    JobStatus,
    JobType,
    known,
)

__all__ = ["DriverInfo", "JobDetails", "JobErrorType", "JobInfo", "JobStatus", "JobSubmissionClient", "JobType"]


class JobSubmissionClient:
    """Talks over HTTP with the server of jobs, which every cluster of ``eagleray start --head`` has.

    Args:
        address: ``http://HOST:8265`` of the head's machine, or ``https://…`` of a proxy before it, or an address as for
            ``init``; None is the cluster that runs on this machine. The variables RAY_API_SERVER_ADDRESS and
            RAY_ADDRESS come before it.
        create_cluster_if_needed: Accepted as under Ray, where it is for other services than clusters.
        cookies: Sent with each request.
        metadata: Added to the metadata of each job; it comes before what the job itself says.
        headers: Sent with each request. Without an Authorization among them the cluster's token is sent, if this user
            has it; to a server of this machine also beside an Authorization that is no Bearer, as X-Ray-Authorization.
        verify: Whether the server's certificate is checked, or a file or folder of authorities for that.

    Raises:
        ConnectionError: no server answers there.
        AuthenticationError: the token is missing or wrong.
        TypeError, ValueError, FileNotFoundError: an argument is wrong.
    """

    def __init__(
        self,
        address: str | None = None,
        create_cluster_if_needed: bool = False,
        cookies: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
        verify: str | bool = True,
    ) -> None:
        for name, value, kind in (
            ("address", address, str),
            ("create_cluster_if_needed", create_cluster_if_needed, bool),
            ("cookies", cookies, dict),
            ("metadata", metadata, dict),
            ("headers", headers, dict),
            ("verify", verify, (str, bool)),
        ):
            if value is not None and not isinstance(value, kind):
                wanted = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
                raise TypeError(f"{name} must be a {wanted}, got {type(value)}")
        self._metadata = dict(metadata or {})
        self._server = transport.Transport(transport.server_url(address), headers or {}, cookies or {}, verify)
        try:
            self._version = self._server.ask("GET", "/api/version") or {}
        except transport.Refusal as problem:
            raise RuntimeError(
                f"{self._server.url} answers, and is no server of jobs: {problem}. Is it the address of a head, with "
                "the port of --dashboard-port?"
            ) from None

    def get_version(self) -> str:
        """Returns the version of the server's API."""
        return str(self._version.get("version", ""))

    def get_address(self) -> str:
        """Returns the URL of the server."""
        return self._server.url

    def submit_job(
        self,
        *,
        entrypoint: str,
        job_id: str | None = None,
        runtime_env: dict[str, Any] | None = None,
        metadata: dict[str, str] | None = None,
        submission_id: str | None = None,
        entrypoint_num_cpus: int | float | None = None,
        entrypoint_num_gpus: int | float | None = None,
        entrypoint_memory: int | None = None,
        entrypoint_resources: dict[str, float] | None = None,
        entrypoint_label_selector: dict[str, str] | None = None,
    ) -> str:
        """Runs a shell command on a node of the cluster.

        Args:
            entrypoint: The command.
            job_id: The old name of ``submission_id``.
            runtime_env: The environment of the command, and of the tasks and actors of the program that it starts.
                Local folders in ``working_dir`` and ``py_modules`` are uploaded.
            metadata: Kept with the job.
            submission_id: The job's name; made up if it is None.
            entrypoint_num_cpus: CPUs for the command itself, besides those of its tasks and actors.
            entrypoint_num_gpus: GPUs for the command itself.
            entrypoint_memory: Bytes of memory for the command itself.
            entrypoint_resources: Custom resources for the command itself.
            entrypoint_label_selector: Which labels the node of the command must have.

        Returns:
            The name of the job.

        Raises:
            RuntimeError: the server refuses, for example because there is a job of that name.
            ValueError, TypeError: an argument is wrong.
        """
        if runtime_env is not None and not isinstance(runtime_env, dict):
            raise TypeError(f"runtime_env must be a dict, got {type(runtime_env)}")
        hook = (runtime_env or {}).get("worker_process_setup_hook")
        if hook is not None and not isinstance(hook, str):
            raise ValueError(
                f"runtime_env['worker_process_setup_hook'] is a {type(hook).__name__}: of a submitted job it must be "
                "the name of a function, as 'module.function'"
            )
        fields = {
            "entrypoint": entrypoint,
            "submission_id": submission_id or job_id,
            "runtime_env": folders.upload(runtime_env or {}, self._upload),
            "metadata": {**(metadata or {}), **self._metadata},
            "entrypoint_num_cpus": entrypoint_num_cpus,
            "entrypoint_num_gpus": entrypoint_num_gpus,
            "entrypoint_memory": entrypoint_memory,
            "entrypoint_resources": entrypoint_resources,
            "entrypoint_label_selector": entrypoint_label_selector,
        }
        answer = self._server.ask(
            "POST", "/api/jobs/", fields={name: value for name, value in fields.items() if value is not None}
        )
        return str(answer["submission_id"])

    def stop_job(self, job_id: str) -> bool:
        """Ends a job: its processes get SIGTERM, and SIGKILL 3 s later.

        Returns:
            Whether it ran. The call does not wait until the job has ended.

        Raises:
            RuntimeError: there is no such job.
        """
        return bool(self._server.ask("POST", _path(job_id, "/stop"))["stopped"])

    def delete_job(self, job_id: str) -> bool:
        """Removes the record of a job that has ended. Its log stays on its node.

        Raises:
            RuntimeError: there is no such job, or it has not ended.
        """
        return bool(self._server.ask("DELETE", _path(job_id))["deleted"])

    def get_job_info(self, job_id: str) -> JobDetails:
        """Returns what is known of a job.

        Args:
            job_id: The name under which it was submitted, or the id of a job of the cluster.

        Raises:
            RuntimeError: there is no such job.
        """
        return JobDetails(**known(JobDetails, self._server.ask("GET", _path(job_id))))

    def list_jobs(self) -> list[JobDetails]:
        """Returns all jobs, also those that have ended, and the programs that were not submitted."""
        return [JobDetails(**known(JobDetails, row)) for row in self._server.ask("GET", "/api/jobs/")]

    def get_job_status(self, job_id: str) -> JobStatus:
        """Returns where a job is in its life.

        Raises:
            RuntimeError: there is no such job.
        """
        return self.get_job_info(job_id).status

    def get_job_logs(self, job_id: str) -> str:
        """Returns what a job has written so far.

        Raises:
            RuntimeError: there is no such job, or the node that has its log is gone.
        """
        return str(self._server.ask("GET", _path(job_id, "/logs"))["logs"])

    async def tail_job_logs(self, job_id: str) -> AsyncIterator[str]:
        """Returns what a job writes, piece by piece, from the beginning until the job has ended.

        Raises:
            RuntimeError: there is no such job, or the connection has ended before the job.
        """
        lines = self._pieces(job_id)
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | BaseException | None] = asyncio.Queue(64)
        left = threading.Event()

        def read() -> None:
            last: str | BaseException | None = None
            try:
                for text in lines:
                    if text and not left.is_set():
                        asyncio.run_coroutine_threadsafe(pieces.put(text), loop).result()
                    if left.is_set():
                        return
            except BaseException as problem:  # it is raised where the pieces are taken
                last = problem
            finally:
                lines.close()
                if not left.is_set():
                    with contextlib.suppress(RuntimeError):  # the loop is closed
                        asyncio.run_coroutine_threadsafe(pieces.put(last), loop)

        threading.Thread(target=read, name="job log", daemon=True).start()
        try:
            while True:
                piece = await pieces.get()
                if piece is None:
                    return
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            left.set()
            while not pieces.empty():
                pieces.get_nowait()

    def _pieces(self, job_id: str) -> Generator[str, None, None]:
        for event in self._server.lines(_path(job_id, "/logs/tail")):
            if event.get("error"):
                raise RuntimeError(str(event["error"]))
            if event.get("end"):
                return
            yield str(event.get("text", ""))
        raise RuntimeError(f"the log of {job_id} has ended before the job: the server of jobs has ended")

    def _upload(self, name: str, file: IO[bytes], length: int) -> None:
        """Uploads a package that the server does not have."""
        path = f"/api/packages/gcs/{quote(name)}"
        try:
            self._server.ask("GET", path)
        except transport.Refusal as problem:
            if problem.status != 404:
                raise
            self._server.ask("PUT", path, body=file, length=length)


def _path(job_id: str, more: str = "") -> str:
    if not isinstance(job_id, str) or not job_id:
        raise TypeError(f"job_id must be the name of a job, got {job_id!r}")
    return f"/api/jobs/{quote(job_id, safe='')}{more}"
