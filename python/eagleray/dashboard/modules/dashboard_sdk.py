"""Where jobs are submitted: addresses of clusters, also through modules of others."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from eagleray._private.session.driver import RayContext
from eagleray._private.state import process

__all__ = ["DEFAULT_DASHBOARD_ADDRESS", "ClusterInfo", "get_job_submission_client_cluster_info", "parse_cluster_info"]

DEFAULT_DASHBOARD_ADDRESS = "http://localhost:8265"


@dataclasses.dataclass
class ClusterInfo:
    """What is needed to talk with a cluster's server of jobs.

    Attributes:
        address: ``http://HOST:PORT`` or ``https://HOST:PORT``.
        cookies: Sent with each request.
        metadata: Added to the metadata of each job.
        headers: Sent with each request.
    """

    address: str
    cookies: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    headers: dict[str, Any] | None = None


def get_job_submission_client_cluster_info(
    address: str,
    create_cluster_if_needed: bool | None = False,
    cookies: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    headers: dict[str, Any] | None = None,
    *,
    _use_tls: bool | None = False,
) -> ClusterInfo:
    """Returns the values in one object, the address with its scheme.

    Args:
        address: HOST:PORT.
        create_cluster_if_needed: Without a meaning here: a cluster is not created.
        cookies: Sent with each request.
        metadata: Added to the metadata of each job.
        headers: Sent with each request.
    """
    del create_cluster_if_needed
    return ClusterInfo(f"{'https' if _use_tls else 'http'}://{address}", cookies, metadata, headers)


def parse_cluster_info(
    address: str | None = None,
    create_cluster_if_needed: bool = False,
    cookies: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    headers: dict[str, Any] | None = None,
) -> ClusterInfo:
    """Returns what is needed to talk with the cluster at an address.

    Args:
        address: ``http://HOST:PORT``, ``https://HOST:PORT``, HOST:PORT, or ``MODULE://REST`` of a module that has a
            function ``get_job_submission_client_cluster_info`` for the rest; None: the server of this program's
            session, else port 8265 of this machine.
        create_cluster_if_needed: Given to that function.
        cookies: Sent with each request.
        metadata: Added to the metadata of each job.
        headers: Sent with each request.

    Raises:
        ValueError: the address is one of Ray Client.
        RuntimeError: there is no such module, or the module has no such function.
    """
    if address is None:
        url = RayContext(process.session).address_info["webui_url"] if process.session is not None else ""
        return ClusterInfo(f"http://{url}" if url else DEFAULT_DASHBOARD_ADDRESS, cookies, metadata, headers)
    scheme, found, rest = address.partition("://")
    if not found:
        scheme, rest = "http", address
    if scheme == "ray":
        raise ValueError(f"{address!r}: jobs are submitted over HTTP, and not to ray://: write http://HOST:8265")
    if scheme in ("http", "https"):
        return get_job_submission_client_cluster_info(
            rest,
            create_cluster_if_needed=create_cluster_if_needed,
            cookies=cookies,
            metadata=metadata,
            headers=headers,
            _use_tls=scheme == "https",
        )
    try:
        module: Any = importlib.import_module(scheme)
    except ModuleNotFoundError as error:
        raise RuntimeError(f"the address {address!r} names the module {scheme!r}, which is not there") from error
    if not hasattr(module, "get_job_submission_client_cluster_info"):
        raise RuntimeError(
            f"the address {address!r} names the module {scheme!r}, which has no function "
            "get_job_submission_client_cluster_info"
        )
    made: ClusterInfo = module.get_job_submission_client_cluster_info(
        rest,
        create_cluster_if_needed=create_cluster_if_needed,
        cookies=cookies,
        metadata=metadata,
        headers=headers,
    )
    return made
