"""How a runtime environment is made: the field ``config``."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Any, ClassVar

_logger = logging.getLogger(__name__)

#: Seconds in which an environment has to be made.
DEFAULT_TIMEOUT_SECONDS = 600


class RuntimeEnvConfig(dict[str, Any]):
    """How a runtime environment is made. Two environments that differ in this only are one environment.

    Args:
        setup_timeout_seconds: Seconds in which the environment has to be made; -1 sets no limit.
        eager_install: Whether it is made when the job begins, and not at the first task.
        log_files: Names of files of the log to show for this environment.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: the timeout is neither positive nor -1.
    """

    known_fields: ClassVar[set[str]] = {"setup_timeout_seconds", "eager_install", "log_files"}

    def __init__(
        self,
        setup_timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS,
        eager_install: bool = True,
        log_files: list[str] | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(setup_timeout_seconds, int):
            raise TypeError(f"setup_timeout_seconds must be of type int, got: {type(setup_timeout_seconds)}")
        if setup_timeout_seconds <= 0 and setup_timeout_seconds != -1:
            raise ValueError(
                f"setup_timeout_seconds must be greater than zero, or -1 for no limit, got: {setup_timeout_seconds}"
            )
        if not isinstance(eager_install, bool):
            raise TypeError(f"eager_install must be a boolean, got {type(eager_install)}")
        if log_files is not None and not isinstance(log_files, list):
            raise TypeError(f"log_files must be a list of strings or None, got {log_files} of {type(log_files)}")
        if not all(isinstance(name, str) for name in log_files or ()):
            raise TypeError(f"Each item in log_files must be a string, got {log_files}")
        self["setup_timeout_seconds"] = setup_timeout_seconds
        self["eager_install"] = eager_install
        self["log_files"] = list(log_files or ())

    @staticmethod
    def parse_and_validate_runtime_env_config(config: Mapping[str, Any] | RuntimeEnvConfig) -> RuntimeEnvConfig:
        """Returns the configuration that a dictionary states. Fields that are not known are dropped with a warning.

        Raises:
            TypeError: it is no dictionary, or a field has a wrong type.
            ValueError: a field has a wrong value.
        """
        if isinstance(config, RuntimeEnvConfig):
            return config
        if not isinstance(config, Mapping):
            raise TypeError(f"runtime_env['config'] must be of type dict or RuntimeEnvConfig, got: {type(config)}")
        unknown = sorted(map(str, set(config) - RuntimeEnvConfig.known_fields))
        if unknown:
            _logger.warning(
                "runtime_env['config'] has fields that do not exist and have no effect: %s. Those that exist are %s.",
                ", ".join(unknown),
                ", ".join(sorted(RuntimeEnvConfig.known_fields)),
            )
        return RuntimeEnvConfig(**{name: config[name] for name in RuntimeEnvConfig.known_fields if name in config})

    @classmethod
    def default_config(cls) -> RuntimeEnvConfig:
        """The configuration of an environment that states none."""
        return cls()

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary with copies of the fields."""
        return copy.deepcopy(dict(self))
