"""``util.joblib``: joblib's ``Parallel`` runs its calls in actors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy
import pytest
from eagleray.util.joblib import register_ray


def double(x: int) -> int:
    return 2 * x


def place(_: Any = None) -> tuple[int, str]:
    import eagleray

    return os.getpid(), eagleray.get_runtime_context().get_actor_id() or ""


def fails_at(x: int, bad: int) -> int:
    if x == bad:
        raise KeyError(x)
    return x


def where_and_sum(array: Any, more: Any = None) -> tuple[int, float, bool]:
    """Where an array lies, its sum, and whether it may be written."""
    del more
    return array.__array_interface__["data"][0], float(array.sum()), array.flags.writeable


@pytest.fixture
def backend(ray: Any) -> Iterator[Any]:
    register_ray()
    with joblib.parallel_config("ray", n_jobs=2):
        yield ray


def test_calls_run_in_actors(backend: Any) -> None:
    parallel = joblib.Parallel()
    assert parallel(joblib.delayed(double)(x) for x in range(1000)) == [2 * x for x in range(1000)]
    places = joblib.Parallel(batch_size=1)(joblib.delayed(place)(x) for x in range(20))
    assert 1 <= len({pid for pid, _ in places} - {os.getpid()}) <= 2 and all(actor for _, actor in places)
    assert joblib.Parallel()(joblib.delayed(lambda x: x + 1)(x) for x in range(3)) == [1, 2, 3]
    results = joblib.Parallel(return_as="generator")(joblib.delayed(double)(x) for x in range(5))
    assert list(results) == [0, 2, 4, 6, 8]


def test_the_number_of_jobs(backend: Any) -> None:
    assert joblib.effective_n_jobs(-1) == 4 and joblib.effective_n_jobs(-2) == 3 and joblib.effective_n_jobs(3) == 3
    with pytest.raises(ValueError, match="no meaning"):
        joblib.effective_n_jobs(0)
    assert len(joblib.Parallel(n_jobs=-1)(joblib.delayed(place)() for _ in range(8))) == 8
    alone = joblib.Parallel(n_jobs=1)(joblib.delayed(place)() for _ in range(2))
    assert {pid for pid, _ in alone} == {os.getpid()}  # one job runs here, as with joblib's own processes
    with pytest.raises(ValueError, match="the cluster has 4"):
        joblib.Parallel(n_jobs=5)(joblib.delayed(double)(x) for x in range(2))


def test_an_exception_ends_the_calls(backend: Any) -> None:
    for _ in range(2):
        with pytest.raises(KeyError, match="7"):
            joblib.Parallel()(joblib.delayed(fails_at)(x, 7) for x in range(1000))
        assert joblib.Parallel()(joblib.delayed(double)(x) for x in range(4)) == [0, 2, 4, 6]


def test_a_large_array_is_sent_once_for_all_calls(backend: Any) -> None:
    array = numpy.ones(1 << 18)
    assert array.nbytes == 2 << 20
    with joblib.Parallel(batch_size=1) as parallel:
        found = parallel(joblib.delayed(where_and_sum)(array, more=array) for _ in range(8))
        assert {(total, writeable) for _, total, writeable in found} == {(float(1 << 18), False)}
        assert len({at for at, _, _ in found}) <= 2  # one mapping in each process
        array[:] = 2  # the next call sees this
        assert {total for _, total, _ in parallel(joblib.delayed(where_and_sum)(array) for _ in range(4))} == {
            float(2 << 18)
        }


def test_options_of_the_actors(backend: Any) -> None:
    options = {"num_cpus": 0, "resources": {"slot": 1}}

    def free(_: int) -> Any:
        return backend.available_resources().get("slot", 0)

    with joblib.parallel_config("ray", n_jobs=2, ray_remote_args=options):
        assert joblib.Parallel()(joblib.delayed(free)(x) for x in range(2)) == [0, 0]
    assert joblib.Parallel(ray_remote_args=options)(joblib.delayed(free)(x) for x in range(2)) == [0, 0]


def test_without_joblib_the_error_says_what_to_install(script: Any, tmp_path: Path) -> None:
    done = script("""
        import sys
        sys.modules["joblib"] = None
        from eagleray.util.joblib import register_ray
        try:
            register_ray()
        except ImportError as error:
            print(error.name, "|", error)
    """)
    assert done.stdout.startswith("joblib | register_ray() needs the package joblib, 1.3 or later: run `pip install")
