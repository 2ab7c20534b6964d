"""Writes the pages of the Python reference: one for each public module, with a directive for each public name.

    reference.py FOLDER     writes python/*.md below FOLDER

mkdocstrings puts signatures and docstrings in the places of the directives when the site is built.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType

#: The modules that programs import, in the order of the site.
MODULES = (
    "eagleray",
    "eagleray.actor",
    "eagleray.remote_function",
    "eagleray.exceptions",
    "eagleray.runtime_context",
    "eagleray.runtime_env",
    "eagleray.job_config",
    "eagleray.job_submission",
    "eagleray.cross_language",
    "eagleray.kernels",
    "eagleray.util",
    "eagleray.util.accelerators",
    "eagleray.util.actor_group",
    "eagleray.util.actor_pool",
    "eagleray.util.annotations",
    "eagleray.util.collective",
    "eagleray.util.collective.types",
    "eagleray.util.dask",
    "eagleray.util.debug",
    "eagleray.util.iter",
    "eagleray.util.iter_metrics",
    "eagleray.util.joblib",
    "eagleray.util.metrics",
    "eagleray.util.multiprocessing",
    "eagleray.util.placement_group",
    "eagleray.util.queue",
    "eagleray.util.scheduling_strategies",
    "eagleray.util.serialization",
    "eagleray.util.state",
    "eagleray.util.state.common",
    "eagleray.util.state.exception",
    "eagleray.cluster_utils",
    "eagleray.autoscaler",
    "eagleray.autoscaler.sdk",
    "eagleray.experimental",
    "eagleray.experimental.tqdm_ray",
)

#: Modules without an underscore that have no page of their own, and where the names are that they hold.
ELSEWHERE = {
    "eagleray.client_builder": "for libraries that import it",
    "eagleray.cloudpickle": "the package cloudpickle itself",
    "eagleray.core": "for libraries that import it",
    "eagleray.core.generated": "for libraries that import it",
    "eagleray.dashboard": "eagleray.job_submission",
    "eagleray.dashboard.modules": "eagleray.job_submission",
    "eagleray.dashboard.modules.dashboard_sdk": "eagleray.job_submission",
    "eagleray.dashboard.modules.job": "eagleray.job_submission",
    "eagleray.dashboard.modules.job.common": "eagleray.job_submission",
    "eagleray.dashboard.modules.job.pydantic_models": "eagleray.job_submission",
    "eagleray.dashboard.modules.job.sdk": "eagleray.job_submission",
    "eagleray.experimental.internal_kv": "for libraries that import it",
    "eagleray.experimental.queue": "eagleray.util.queue",
    "eagleray.experimental.state": "eagleray.util.state",
    "eagleray.experimental.state.api": "eagleray.util.state",
    "eagleray.experimental.state.common": "eagleray.util.state",
    "eagleray.experimental.state.exception": "eagleray.util.state",
    "eagleray.internal": "for libraries that import it",
    "eagleray.kernels.dtypes": "eagleray.kernels",
    "eagleray.kernels.errors": "eagleray.kernels",
    "eagleray.runtime_env.config": "eagleray.runtime_env",
    "eagleray.runtime_env.fields": "eagleray.runtime_env",
    "eagleray.runtime_env.runtime_env": "eagleray.runtime_env",
    "eagleray.scripts": "the command",
    "eagleray.scripts.scripts": "the command",
    "eagleray.types": "eagleray",
    "eagleray.util.check_serialize": "eagleray.util",
    "eagleray.util.client": "for libraries that import it",
    "eagleray.util.client.common": "for libraries that import it",
    "eagleray.util.client.ray_client_helpers": "for libraries that import it",
    "eagleray.util.client.worker": "for libraries that import it",
    "eagleray.util.collective.bfloat16": "eagleray.util.collective",
    "eagleray.util.collective.collective": "eagleray.util.collective",
    "eagleray.util.collective.exchange": "eagleray.util.collective",
    "eagleray.util.collective.group": "eagleray.util.collective",
    "eagleray.util.completion": "eagleray.util",
    "eagleray.util.dask.callbacks": "eagleray.util.dask",
    "eagleray.util.dask.scheduler": "eagleray.util.dask",
    "eagleray.util.dask.settings": "eagleray.util.dask",
    "eagleray.util.helpers": "eagleray.util",
    "eagleray.util.inspection": "eagleray.util",
    "eagleray.util.iter.local": "eagleray.util.iter",
    "eagleray.util.iter.parallel": "eagleray.util.iter",
    "eagleray.util.iter.worker": "eagleray.util.iter",
    "eagleray.util.joblib.ray_backend": "eagleray.util.joblib",
    "eagleray.util.multiprocessing.iterators": "eagleray.util.multiprocessing",
    "eagleray.util.multiprocessing.pool": "eagleray.util.multiprocessing",
    "eagleray.util.multiprocessing.results": "eagleray.util.multiprocessing",
    "eagleray.util.multiprocessing.worker": "eagleray.util.multiprocessing",
    "eagleray.util.state.api": "eagleray.util.state",
    "eagleray.util.state.client": "eagleray.util.state",
    "eagleray.util.state.logs": "eagleray.util.state",
    "eagleray.util.timer": "for libraries that import it",
}


def names(module: ModuleType) -> list[str]:
    """Returns a module's public names: those of __all__, else those that the module itself defines."""
    every = getattr(module, "__all__", None)
    if every is None:
        public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
        every = [name for name, value in public.items() if getattr(value, "__module__", "") == module.__name__]
        every += [name for name, value in public.items() if isinstance(value, str)]  # constants
    return sorted(every, key=lambda name: (name.casefold(), name))


def directive(module: ModuleType, name: str) -> str:
    """Returns what stands for a name on the page of its module."""
    value = getattr(module, name)
    title = f"## `{name}`\n\n"
    if isinstance(value, ModuleType):
        own = value.__name__
        return title + (f"A module: [{own}]({own}.md).\n" if own in MODULES else f"The module `{own}`.\n")
    if isinstance(value, (str, int, float, tuple, frozenset)):
        return f"{title}`{value!r}`\n"
    path = f"{module.__name__}.{name}"
    if inspect.isclass(value) or inspect.isroutine(value):
        home = getattr(value, "__module__", None) or module.__name__
        if not home.startswith("eagleray"):
            return f"{title}The one of `{home}`.\n"
        there = f"{home}.{value.__name__}"
        if home in MODULES and home != module.__name__ and value.__name__ in names(sys.modules[home]):
            return f"{title}See [{there}]({home}.md#{there}).\n"
        if getattr(sys.modules[home], value.__name__, None) is value:
            path = there
    return f"::: {path}\n    options:\n      heading: {name}\n      toc_label: {name}\n"


def page(name: str) -> str:
    """Returns the page of a module."""
    module = importlib.import_module(name)
    about = inspect.cleandoc(module.__doc__ or "")
    about = about.replace("``", "`")
    return "\n".join([f"# {name}\n", about, "", *(directive(module, one) for one in names(module))])


def main() -> None:
    folder = Path(sys.argv[1]) / "python"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    for name in MODULES:
        (folder / f"{name}.md").write_text(page(name), encoding="utf-8")


if __name__ == "__main__":
    main()
