"""Small helpers of ``util`` beyond what tests/compat compares with Ray."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest
from eagleray.util import annotations, debug


def test_keys_are_new_again_after_a_quiet_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(debug, "_seen", debug._Occasions())
    monkeypatch.setattr(debug.time, "monotonic", lambda: now)
    assert debug.log_once("a")
    now += 61
    assert not debug.log_once("a")  # only with periodic logging
    debug.enable_periodic_logging()
    assert debug.log_once("a") and not debug.log_once("a")
    now += 59
    assert not debug.log_once("a") and debug.log_once("b")
    now += 59
    assert not debug.log_once("a")
    now += 2
    assert debug.log_once("a")
    debug.disable_log_once_globally()
    assert not debug.log_once("c")


def test_marks_say_what_they_refuse() -> None:
    with pytest.raises(AssertionError, match="got 'old'"):
        annotations.PublicAPI(stability="old")
    with pytest.raises(ValueError, match="got also: reason"):
        annotations.Deprecated(reason="x")


def test_a_deprecated_method_warns_at_the_line_of_its_caller() -> None:
    class Some:
        @annotations.Deprecated(message="use b()", warning=True)
        def a(self, x: int) -> int:
            """Gives x."""
            return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert Some().a(5) == 5
    assert [one.filename for one in caught] == [__file__] and "Some.a: Deprecated" in str(caught[0].message)
    found: Any = Some.a
    assert found.__doc__.startswith("Gives x.\n\nDeprecated") and found.__doc__.endswith("use b()")


def test_programs_name_the_modules_of_ray() -> None:
    program = (
        "from eagleray.util.annotations import PublicAPI, DeveloperAPI, Deprecated\n"
        "from eagleray.util.debug import log_once\n"
        "from eagleray.util.check_serialize import inspect_serializability, FailureTuple\n"
        "from eagleray.util.serialization import register_serializer, deregister_serializer\n"
        "import eagleray\n"
        "print(eagleray.is_initialized(), log_once is eagleray.util.log_once)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False True\n"
