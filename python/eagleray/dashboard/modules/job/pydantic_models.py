"""What is told of a job: other names of ``eagleray.job_submission``. The classes are dataclasses."""

from __future__ import annotations

from eagleray.job_submission import DriverInfo as DriverInfo
from eagleray.job_submission import JobDetails as JobDetails
from eagleray.job_submission import JobType as JobType

__all__ = ["DriverInfo", "JobDetails", "JobType"]
