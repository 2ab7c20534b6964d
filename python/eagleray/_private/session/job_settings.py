"""What ``init`` takes from ``job_config`` and ``logging_config``."""

from __future__ import annotations

from typing import Any, NamedTuple

from eagleray._private import driver_log, job_logging
from eagleray._private.job_logging import LoggingConfig
from eagleray.job_config import JobConfig

_said: set[str] = set()


class Settings(NamedTuple):
    """What a job begins with."""

    namespace: str | None
    runtime_env: dict[str, Any] | None
    logging: LoggingConfig | None

    def begin(self) -> None:
        """Makes this process, and the workers of the session that begins now, log as the job wants it."""
        if self.logging is not None:
            job_logging.apply(self.logging)

    def end(self) -> None:
        """Notes that the session has ended."""
        job_logging.forget()


def merged(job_config: Any, namespace: str | None, runtime_env: dict[str, Any] | None, logging_config: Any) -> Settings:
    """Returns the settings of a job: what ``init`` was given itself counts before what its ``job_config`` says.

    Raises:
        TypeError: one of the two configurations has a wrong type.
        ValueError: the configuration asks for something that is not there, or has a wrong value.
    """
    if logging_config is not None and not isinstance(logging_config, (LoggingConfig, dict)):
        raise TypeError(f"logging_config must be a LoggingConfig or a dict, got {type(logging_config)}")
    if isinstance(logging_config, dict):
        logging_config = LoggingConfig.from_dict(logging_config)
    if job_config is None:
        return Settings(namespace, runtime_env, logging_config)
    if not isinstance(job_config, JobConfig):
        raise TypeError(f"job_config must be a JobConfig, got {type(job_config)}")
    _refuse(job_config)
    if job_config.ray_namespace == "":
        raise ValueError('"" is not a valid namespace. Pass None to not specify a namespace.')
    return Settings(
        namespace or job_config.ray_namespace,
        runtime_env if runtime_env is not None else job_config.runtime_env or None,
        logging_config or job_config.py_logging_config,
    )


def _refuse(job_config: JobConfig) -> None:
    refused = {
        "code_search_path": (job_config.code_search_path, "workers have the driver's sys.path; set PYTHONPATH"),
        "_py_driver_sys_path": (job_config._py_driver_sys_path, "workers have the driver's sys.path; set PYTHONPATH"),
        "default_actor_lifetime": (
            job_config._default_actor_lifetime == "detached",
            "give lifetime='detached' to the actors that are to outlive the program",
        ),
        "_disable_job_level_lineage_reconstruction": (
            job_config._disable_job_level_lineage_reconstruction,
            "set RAY_lineage_pinning_enabled=0 before the program starts",
        ),
        "_client_job": (job_config._client_job, "there is no Ray Client"),
    }
    for name, (asked, instead) in refused.items():
        if asked:
            raise ValueError(f"init(job_config=JobConfig({name}=…)) is not supported: {instead}")
    unused = {
        "jvm_options": (job_config.jvm_options, "there are no workers in Java"),
        "metadata": (job_config.metadata, "nothing shows them"),
    }
    for name, (asked, why) in unused.items():
        if asked and name not in _said:
            _said.add(name)
            driver_log.warning(f"init(job_config=JobConfig({name}=…)) has no effect: {why}.")
