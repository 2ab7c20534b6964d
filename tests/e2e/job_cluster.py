"""A cluster whose head serves jobs, for tests of jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from eagleray.job_submission import JobDetails, JobSubmissionClient
from ports import free_port
from two_nodes import TwoNodes

LIMIT = 60.0


class JobCluster(TwoNodes):
    """Two nodes; the second one has the resource ``b``. ``client`` talks with the head."""

    def __init__(self, *flags: str) -> None:
        self.port = free_port()
        super().__init__(f"--dashboard-port={self.port}", *flags)

    def __enter__(self) -> JobCluster:
        super().__enter__()
        self.secret = Path(self.token).read_text().strip()
        return self

    @property
    def url(self) -> str:
        """Where the head serves jobs."""
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> JobSubmissionClient:
        """A client with the cluster's token."""
        return JobSubmissionClient(self.url, headers={"Authorization": f"Bearer {self.secret}"})

    def session(self, node: int = 1) -> Path:
        """The folder of a node's session."""
        one = self.first if node == 1 else self.second
        return Path((one.folder / f"eagleray-{os.getuid()}" / "current").read_text().strip())


def ended(client: JobSubmissionClient, name: str) -> JobDetails:
    """Waits for the end of a job."""
    wait(lambda: client.get_job_status(name).is_terminal(), f"the end of {name}")
    return client.get_job_info(name)


def wait(condition: Callable[[], bool], what: str) -> None:
    """Waits for something that only a question can tell."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
