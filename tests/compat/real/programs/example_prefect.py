"""Prefect: a flow whose tasks run on Ray."""

import os
import tempfile

folder = tempfile.TemporaryDirectory()
os.environ.update(PREFECT_HOME=folder.name, PREFECT_LOGGING_LEVEL="CRITICAL", DO_NOT_TRACK="1")
os.environ.update(PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS="240", PREFECT_SERVER_ANALYTICS_ENABLED="false")

import ray  # noqa: E402
from prefect import flow, task  # noqa: E402
from prefect.futures import wait  # noqa: E402
from prefect_ray import RayTaskRunner  # noqa: E402
from prefect_ray.context import remote_options  # noqa: E402


@task
def square(x: int) -> int:
    return x * x


@task
def total(values: list[int]) -> int:
    return sum(values)


@task
def broken() -> None:
    raise ValueError("as it should")


@flow(task_runner=RayTaskRunner(init_kwargs={"num_cpus": 2}))
def squares(n: int) -> tuple[int, list[int], str]:
    with remote_options(num_cpus=0.5):
        parts = square.map(range(n))
    sums = total.submit(parts)
    failed = broken.submit()
    wait([failed])
    return sums.result(), [part.result() for part in parts], repr(failed.result(raise_on_failure=False))


if __name__ == "__main__":
    print(squares(5))
    ray.shutdown()
    folder.cleanup()
