"""Another name of ``eagleray.job_submission``."""

from __future__ import annotations

from eagleray.dashboard.modules.dashboard_sdk import ClusterInfo as ClusterInfo
from eagleray.dashboard.modules.dashboard_sdk import parse_cluster_info as parse_cluster_info
from eagleray.job_submission import JobDetails as JobDetails
from eagleray.job_submission import JobStatus as JobStatus
from eagleray.job_submission import JobSubmissionClient as JobSubmissionClient

__all__ = ["ClusterInfo", "JobDetails", "JobStatus", "JobSubmissionClient", "parse_cluster_info"]
