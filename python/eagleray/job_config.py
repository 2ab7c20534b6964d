"""``JobConfig``: the settings of a job in one object, for ``init(job_config=…)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eagleray._private.job_logging import LoggingConfig
from eagleray.runtime_env import RuntimeEnv

__all__ = ["JobConfig"]

_LIFETIMES = ("detached", "non_detached")


class JobConfig:
    """The settings of a job. ``init`` takes its namespace, its runtime environment and its logging from it.

    Args:
        jvm_options: Options of workers in Java. There are none here, and ``init`` warns of them.
        code_search_path: Folders of code for workers; ``init`` refuses them: workers have the driver's ``sys.path``.
        runtime_env: The runtime environment of the job.
        _client_job: Whether Ray Client has submitted the job.
        metadata: Texts by name. ``init`` warns of them: nothing shows them.
        ray_namespace: The namespace for names of actors.
        default_actor_lifetime: "detached" or "non_detached". ``init`` refuses "detached".
        _disable_job_level_lineage_reconstruction: Whether lost objects of the job stay lost; ``init`` refuses it.
        _py_driver_sys_path: Folders of code for workers; ``init`` refuses them.

    Raises:
        TypeError: the code search path is no list.
        ValueError: the lifetime is none of the two.
    """

    def __init__(
        self,
        jvm_options: list[str] | None = None,
        code_search_path: Sequence[str] | None = None,
        runtime_env: dict[str, Any] | None = None,
        _client_job: bool = False,
        metadata: dict[str, str] | None = None,
        ray_namespace: str | None = None,
        default_actor_lifetime: str = "non_detached",
        _disable_job_level_lineage_reconstruction: bool = False,
        _py_driver_sys_path: list[str] | None = None,
    ) -> None:
        if not isinstance(code_search_path or [], (list, tuple)):
            raise TypeError(f"The type of code search path is incorrect: {type(code_search_path)}")
        self.jvm_options: list[str] = jvm_options or []
        self.code_search_path: Sequence[str] = code_search_path or []
        self._client_job = _client_job
        self.metadata: dict[str, str] = metadata or {}
        self.ray_namespace = ray_namespace
        self.py_logging_config: LoggingConfig | None = None
        self._disable_job_level_lineage_reconstruction = _disable_job_level_lineage_reconstruction
        self._py_driver_sys_path = _py_driver_sys_path or []
        self.set_runtime_env(runtime_env)
        self.set_default_actor_lifetime(default_actor_lifetime)

    def set_metadata(self, key: str, value: str) -> None:
        """Sets one of the texts."""
        self.metadata[key] = value

    def set_runtime_env(self, runtime_env: Mapping[str, Any] | None, validate: bool = False) -> None:
        """Sets the runtime environment.

        Args:
            runtime_env: The environment.
            validate: Whether it is made a ``RuntimeEnv``, which checks it.
        """
        env = dict(runtime_env or {}) if not isinstance(runtime_env, RuntimeEnv) else runtime_env
        self.runtime_env: dict[str, Any] = RuntimeEnv(**env) if validate else env

    def set_ray_namespace(self, ray_namespace: str) -> None:
        """Sets the namespace."""
        self.ray_namespace = ray_namespace

    def set_py_logging_config(self, logging_config: LoggingConfig | None = None) -> None:
        """Sets how the loggers of driver and workers write."""
        self.py_logging_config = logging_config

    def ensure_logging_config(self, logging_config: dict[str, Any] | LoggingConfig | None = None) -> None:
        """Sets how the loggers write, unless it is set.

        Raises:
            TypeError: the argument is neither a dictionary nor a ``LoggingConfig``.
        """
        if logging_config is None or self.py_logging_config is not None:
            return
        if isinstance(logging_config, dict):
            logging_config = LoggingConfig.from_dict(logging_config)
        elif not isinstance(logging_config, LoggingConfig):
            raise TypeError(f"logging_config must be a dict or LoggingConfig, got {type(logging_config)}")
        self.py_logging_config = logging_config

    def set_default_actor_lifetime(self, default_actor_lifetime: str) -> None:
        """Sets the lifetime of actors that state none.

        Raises:
            ValueError: it is neither "detached" nor "non_detached".
        """
        if default_actor_lifetime not in _LIFETIMES:
            raise ValueError("Default actor lifetime must be one of `detached`, `non_detached`")
        self._default_actor_lifetime = default_actor_lifetime

    @classmethod
    def from_json(cls, job_config_json: Mapping[str, Any]) -> JobConfig:
        """Returns the configuration that a dictionary from JSON states."""
        return cls(
            jvm_options=job_config_json.get("jvm_options"),
            code_search_path=job_config_json.get("code_search_path"),
            runtime_env=job_config_json.get("runtime_env"),
            metadata=job_config_json.get("metadata"),
            ray_namespace=job_config_json.get("ray_namespace"),
            _disable_job_level_lineage_reconstruction=job_config_json.get(
                "disable_job_level_lineage_reconstruction", False
            ),
            _client_job=job_config_json.get("client_job", False),
            _py_driver_sys_path=job_config_json.get("py_driver_sys_path"),
        )

    def __repr__(self) -> str:
        return f"JobConfig(ray_namespace={self.ray_namespace!r}, runtime_env={self.runtime_env!r})"
