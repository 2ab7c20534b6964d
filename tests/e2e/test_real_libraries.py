"""Libraries that use Ray run unmodified, and what they print is what they print under Ray (``make real``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pydantic
import pytest
from eagleray._private import worker
from eagleray.job_submission import JobDetails

RUN = Path(__file__).parents[1] / "compat" / "real" / "run.py"


def test_the_class_that_ray_ease_looks_for_is_that_of_contexts() -> None:
    assert worker.BaseContext is worker.RayContext


def test_models_of_pydantic_have_fields_that_are_job_details() -> None:
    class Run(pydantic.BaseModel):
        job: JobDetails | None = None

    made = Run(job=JobDetails(type="SUBMISSION", status="PENDING", entrypoint="x", metadata={"a": "b"}))
    assert made.model_dump()["job"]["metadata"] == {"a": "b"} and Run().job is None


def test_a_library_without_a_program_is_an_error_that_names_those_that_have_one() -> None:
    done = subprocess.run([sys.executable, RUN, "none"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "no program for none; there are " in done.stderr and "hamilton" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_hamilton_prints_the_same_under_ray() -> None:
    done = subprocess.run([sys.executable, RUN, "hamilton"], capture_output=True, text=True, timeout=800)
    assert done.returncode == 0 and done.stdout == "hamilton: the same\n", done.stdout + done.stderr
