"""What a job is: other names of ``eagleray.job_submission``."""

from __future__ import annotations

from eagleray.job_submission import JobErrorType as JobErrorType
from eagleray.job_submission import JobInfo as JobInfo
from eagleray.job_submission import JobStatus as JobStatus

__all__ = ["JobErrorType", "JobInfo", "JobStatus"]
