"""Which options are taken, which are refused, and with what kind of exception."""

from __future__ import annotations

from typing import Any

from casebook import accepts, case


def plain() -> int:
    return 1


class Plain:
    pass


RESOURCE_OPTIONS: list[dict[str, Any]] = [
    {"num_cpus": 1.5},
    {"num_cpus": 0.5},
    {"num_cpus": 0.0001},
    {"num_cpus": 0},
    {"num_cpus": None},
    {"num_cpus": -1},
    {"num_cpus": "1"},
    {"num_cpus": 0.00001},
    {"num_gpus": 0.25},
    {"num_gpus": -1},
    {"num_gpus": [1]},
    {"num_gpus": 0.00001},
    {"resources": {"disk": 1}},
    {"resources": {"disk": 0.5}},
    {"resources": {}},
    {"resources": None},
    {"resources": {"CPU": 1}},
    {"resources": {"GPU": 1}},
    {"resources": {"disk": -1}},
    {"resources": {"disk": "1"}},
    {"resources": {"disk": 0.00001}},
    {"resources": 1},
    {"memory": 1000},
    {"memory": -1},
    {"memory": "1"},
]

COMMON_OPTIONS: list[dict[str, Any]] = [
    {"nothing": 1},
    {"name": "n"},
    {"name": 1},
    {"runtime_env": {}},
    {"runtime_env": {"env_vars": {"A": "1"}}},
    {"runtime_env": 1},
    {"accelerator_type": "V100"},
    {"accelerator_type": 1},
    {"scheduling_strategy": "SPREAD"},
    {"scheduling_strategy": "DEFAULT"},
    {"scheduling_strategy": 1},
]

FUNCTION_OPTIONS: list[dict[str, Any]] = [
    {"num_returns": 0},
    {"num_returns": 3},
    {"num_returns": None},
    {"num_returns": -1},
    {"num_returns": 1.5},
    {"num_returns": "x"},
    {"max_retries": 0},
    {"max_retries": -1},
    {"max_retries": -2},
    {"max_retries": 1.5},
    {"retry_exceptions": True},
    {"retry_exceptions": [ValueError]},
    {"retry_exceptions": [1]},
    {"retry_exceptions": 1},
    {"max_calls": 1},
    {"max_calls": 0},
    {"max_calls": -1},
    {"max_restarts": 1},
    {"max_concurrency": 1},
    {"lifetime": "detached"},
    {"object_store_memory": 1},
]

ACTOR_OPTIONS: list[dict[str, Any]] = [
    {"max_restarts": 0},
    {"max_restarts": -1},
    {"max_restarts": -2},
    {"max_restarts": 1.5},
    {"max_task_retries": 1},
    {"max_task_retries": -2},
    {"max_concurrency": 5},
    {"max_concurrency": -1},
    {"max_concurrency": 1.5},
    {"max_pending_calls": 1},
    {"max_pending_calls": -2},
    {"lifetime": "detached"},
    {"lifetime": "x"},
    {"namespace": "n"},
    {"namespace": 1},
    {"get_if_exists": True},
    {"get_if_exists": 1},
    {"num_returns": 1},
    {"max_retries": 1},
    {"max_calls": 1},
]


def decorate(ray: Any, target: Any, table: list[dict[str, Any]]) -> None:
    for options in table:
        accepts(f"{options}", lambda options=options: ray.remote(**options)(target))


def override(remote: Any, table: list[dict[str, Any]]) -> None:
    for options in table:
        accepts(f"{options}", lambda options=options: remote.options(**options))


@case
def resources_of_functions(ray: Any) -> None:
    decorate(ray, plain, RESOURCE_OPTIONS)


@case
def resources_of_functions_later(ray: Any) -> None:
    override(ray.remote(plain), RESOURCE_OPTIONS)


@case
def resources_of_classes(ray: Any) -> None:
    decorate(ray, Plain, RESOURCE_OPTIONS)


@case
def resources_of_classes_later(ray: Any) -> None:
    override(ray.remote(Plain), RESOURCE_OPTIONS)


@case
def functions(ray: Any) -> None:
    decorate(ray, plain, COMMON_OPTIONS + FUNCTION_OPTIONS)


@case
def functions_later(ray: Any) -> None:
    override(ray.remote(plain), COMMON_OPTIONS + FUNCTION_OPTIONS)


@case
def classes(ray: Any) -> None:
    decorate(ray, Plain, COMMON_OPTIONS + ACTOR_OPTIONS)


@case
def classes_later(ray: Any) -> None:
    override(ray.remote(Plain), COMMON_OPTIONS + ACTOR_OPTIONS)


@case
def unknown_names_are_told(ray: Any) -> None:
    for call in (lambda: ray.remote(num_cpu=1)(plain), lambda: ray.remote(plain).options(num_cpu=1)):
        try:
            call()
        except ValueError as error:
            print("names it:", "num_cpu" in str(error), "lists valid ones:", "num_cpus" in str(error))


@case
def negative_resources_are_told(ray: Any) -> None:
    try:
        ray.remote(num_gpus=-2)(plain)
    except ValueError as error:
        print("num_gpus" in str(error), "negative" in str(error))


@case
def methods(ray: Any) -> None:
    accepts("num_returns", lambda: ray.method(num_returns=2)(plain))
    accepts("negative", lambda: ray.method(num_returns=-1)(plain))
    accepts("unknown", lambda: ray.method(nothing=1)(plain))
    accepts("bare", lambda: ray.method(plain))
    accepts("empty", lambda: ray.method())


@case
def options_do_not_change_the_original(ray: Any) -> None:
    @ray.remote(num_returns=2)
    def pair() -> tuple[int, int]:
        return 1, 2

    one = pair.options(num_returns=1)
    print(ray.get(one.remote()), ray.get(pair.remote()))
