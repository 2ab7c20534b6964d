"""The class ``RuntimeEnv``."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from eagleray.runtime_env import fields
from eagleray.runtime_env.config import RuntimeEnvConfig

_ALONE = ("container", "image_uri")


class RuntimeEnv(dict[str, Any]):
    """The environment of a job, a task or an actor: a dictionary whose fields are checked when they are set.

    It can be given wherever a plain dictionary can: ``init(runtime_env=RuntimeEnv(env_vars={"A": "1"}))``. Whether a
    node can make the environment is known only when it is used.

    Args:
        py_modules: Paths or URIs of packages that workers can import.
        py_executable: The command that starts the interpreter of workers.
        working_dir: Path or URI of the folder that workers run in.
        pip: Requirements for pip: a list, the path of a file, or a dictionary with ``packages``.
        conda: The name of a conda environment, the path of its file or folder, or the content of the file.
        container: A container's image, as a dictionary.
        env_vars: Variables.
        worker_process_setup_hook: A function, or the dotted name of one, that each worker calls when it starts.
        nsight: Options of the profiler Nsight.
        rocprof_sys: Options of the profiler rocprof-sys.
        config: How the environment is made.
        _validate: Whether the fields are checked together.
        image_uri: A container's image.
        uv: Requirements for uv: as ``pip``.
        **kwargs: Further fields, such as ``excludes``.

    Raises:
        TypeError: a field has a wrong type.
        ValueError: a field has a wrong value, or two fields exclude each other.
    """

    known_fields: ClassVar[set[str]] = {
        *("py_modules", "py_executable", "java_jars", "working_dir", "conda", "pip", "uv", "container", "excludes"),
        *("env_vars", "_ray_release", "_ray_commit", "_inject_current_ray", "config", "worker_process_setup_hook"),
        *("_nsight", "_rocprof_sys", "image_uri"),
    }
    extensions_fields: ClassVar[set[str]] = {"_ray_release", "_ray_commit", "_inject_current_ray"}

    def __init__(
        self,
        *,
        py_modules: list[str] | None = None,
        py_executable: str | None = None,
        working_dir: str | None = None,
        pip: list[str] | str | dict[str, Any] | None = None,
        conda: dict[str, Any] | str | None = None,
        container: dict[str, Any] | None = None,
        env_vars: dict[str, str] | None = None,
        worker_process_setup_hook: Callable[[], Any] | str | None = None,
        nsight: str | dict[str, str] | None = None,
        rocprof_sys: str | dict[str, Any] | None = None,
        config: dict[str, Any] | RuntimeEnvConfig | None = None,
        _validate: bool = True,
        image_uri: str | None = None,
        uv: list[str] | str | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given: dict[str, Any] = {
            "py_modules": py_modules,
            "py_executable": py_executable,
            "working_dir": working_dir,
            "pip": pip,
            "uv": uv,
            "conda": conda,
            "_nsight": nsight,
            "_rocprof_sys": rocprof_sys,
            "container": container,
            "env_vars": env_vars,
            "config": config,
            "worker_process_setup_hook": worker_process_setup_hook,
            "image_uri": image_uri,
        }
        given = {**kwargs, **{name: value for name, value in given.items() if value is not None}}
        self.update(given)
        if not _validate:
            return
        _check_together(self, given)
        for name in fields.CHECKS:
            value = self.get(name)
            if value is not None:
                del self[name]
                self[name] = value
        if all(value is None for value in self.values()):
            self.clear()

    def __setitem__(self, key: str, value: Any) -> None:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = dataclasses.asdict(value)
        check = fields.CHECKS.get(key)
        if check is not None:
            value = check(value)
            if value is None:
                return
        super().__setitem__(key, value)

    def set(self, name: str, value: Any) -> None:
        """Sets a field, as ``self[name] = value`` does."""
        self[name] = value

    def get(self, name: str, default: Any = None, data_class: type | None = None) -> Any:
        """Returns a field.

        Args:
            name: The field.
            default: The value if there is no such field.
            data_class: A dataclass to make from the field, whose value is a dictionary then.
        """
        if name not in self:
            return default
        return self[name] if data_class is None else data_class(**self[name])

    @classmethod
    def deserialize(cls, serialized_runtime_env: str) -> RuntimeEnv:
        """Returns the environment that ``serialize`` has made a text of."""
        return cls(_validate=False, **json.loads(serialized_runtime_env))

    def serialize(self) -> str:
        """Returns the environment as JSON, after its fields were checked."""
        return json.dumps(type(self)(_validate=True, **self), sort_keys=True)

    def to_dict(self) -> dict[str, Any]:
        """Returns a plain dictionary with copies of the fields."""
        made = copy.deepcopy(dict(self))
        if isinstance(made.get("config"), RuntimeEnvConfig):
            made["config"] = made["config"].to_dict()
        return made

    def has_working_dir(self) -> bool:
        """Whether a working directory is stated."""
        return self.get("working_dir") is not None

    def working_dir_uri(self) -> str | None:
        """The working directory; None if none is stated."""
        found: str | None = self.get("working_dir")
        return found

    def working_dir(self) -> str:
        """The working directory; an empty text if none is stated."""
        found: str = self.get("working_dir", "")
        return found

    def py_modules(self) -> list[str]:
        """The packages that workers can import."""
        return list(self.get("py_modules", ()))

    def py_modules_uris(self) -> list[str]:
        """The packages that workers can import."""
        return self.py_modules()

    def py_executable(self) -> str | None:
        """The command that starts the interpreter."""
        found: str | None = self.get("py_executable")
        return found

    def env_vars(self) -> dict[str, str]:
        """The variables."""
        found: dict[str, str] = self.get("env_vars", {})
        return found

    def image_uri(self) -> str | None:
        """The container's image."""
        found: str | None = self.get("image_uri")
        return found

    def nsight(self) -> Any:
        """The options of Nsight."""
        return self.get("_nsight")

    def rocprof_sys(self) -> Any:
        """The options of rocprof-sys."""
        return self.get("_rocprof_sys")

    def java_jars(self) -> list[str]:
        """Archives of Java classes."""
        return list(self.get("java_jars", ()))

    def has_conda(self) -> bool:
        """Whether a conda environment is stated."""
        return bool(self.get("conda"))

    def conda_env_name(self) -> str | None:
        """The name of the conda environment; None if its content is stated instead."""
        found = self.get("conda")
        return found if found and isinstance(found, str) else None

    def conda_config(self) -> str | None:
        """The content of the conda environment as JSON; None if its name is stated instead."""
        found = self.get("conda")
        return json.dumps(found, sort_keys=True) if found and isinstance(found, dict) else None

    def has_pip(self) -> bool:
        """Whether requirements for pip are stated."""
        return bool(self.get("pip"))

    def pip_config(self) -> dict[str, Any]:
        """The requirements for pip."""
        found = self.get("pip")
        return found if isinstance(found, dict) else {}

    def has_uv(self) -> bool:
        """Whether requirements for uv are stated."""
        return bool(self.get("uv"))

    def uv_config(self) -> dict[str, Any]:
        """The requirements for uv."""
        found = self.get("uv")
        return found if isinstance(found, dict) else {}

    def has_py_container(self) -> bool:
        """Whether a container is stated."""
        return bool(self.get("container"))

    def py_container_image(self) -> str | None:
        """The container's image."""
        return self["container"].get("image", "") if self.has_py_container() else None

    def py_container_worker_path(self) -> str | None:
        """The path of the worker's program in the container."""
        return self["container"].get("worker_path", "") if self.has_py_container() else None

    def py_container_run_options(self) -> list[str] | None:
        """The options that the container is started with."""
        return self["container"].get("run_options", []) if self.has_py_container() else None

    def get_extension(self, key: str) -> Any:
        """Returns one of the fields that Ray adds itself.

        Raises:
            ValueError: it is no such field.
        """
        if key not in self.extensions_fields:
            raise ValueError(f"Extension key must be one of {sorted(self.extensions_fields)}, got: {key}")
        return self.get(key)

    def plugins(self) -> list[tuple[str, Any]]:
        """The fields that are not known, with their values."""
        return [(name, value) for name, value in self.items() if name not in self.known_fields]


def _check_together(env: RuntimeEnv, given: Mapping[str, Any]) -> None:
    tools = [name for name in ("pip", "uv", "conda") if env.get(name) is not None]
    if len(tools) > 1:
        raise ValueError(
            "The 'pip' field, 'uv' field, and 'conda' field of runtime_env cannot be specified at the same time: "
            + "; ".join(f"{name} is {env[name]}" for name in tools)
        )
    for alone in _ALONE:
        others = sorted(set(given) - {alone, "config", "env_vars"})
        if env.get(alone) and others:
            raise ValueError(
                f"The {alone!r} field currently cannot be used together with other fields of runtime_env than config "
                f"and env_vars. Specified fields: {others}"
            )
