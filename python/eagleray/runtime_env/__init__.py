"""Runtime environments as objects: dictionaries whose fields are checked when they are set."""

from __future__ import annotations

from eagleray.runtime_env.config import RuntimeEnvConfig as RuntimeEnvConfig
from eagleray.runtime_env.runtime_env import RuntimeEnv as RuntimeEnv

__all__ = ["RuntimeEnv", "RuntimeEnvConfig"]
