"""``ray._private.state_api_test_utils``: checks of what lists of tasks say, which Ray's own tests import."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from eagleray.util.state import list_tasks

_POLL_SECONDS = 0.1


def verify_failed_task(name: str, error_type: str, error_message: str | list[str] | None = None) -> bool:
    """Checks that the one task of a name has failed.

    Args:
        name: The task's name.
        error_type: How it has failed.
        error_message: Texts that its error has.

    Returns:
        True.

    Raises:
        AssertionError: it has not failed like that.
    """
    found = list_tasks(filters=[("name", "=", name)], detail=True)
    assert len(found) == 1, found
    task = found[0]
    assert task["state"] == "FAILED", task
    assert task["error_type"] == error_type, task
    for text in [error_message] if isinstance(error_message, str) else error_message or []:
        assert text in (task["error_message"] or ""), task
    return True


def wait_for_task_states(name_to_state: Mapping[str, str], timeout: float = 30) -> None:
    """Waits until each task has a state.

    Args:
        name_to_state: Names of tasks, each with the state that is waited for.
        timeout: Seconds to wait.

    Raises:
        RuntimeError: the time is over.
    """
    end = time.monotonic() + timeout
    while late := [name for name, state in name_to_state.items() if not _has(name, state)]:
        if time.monotonic() > end:
            raise RuntimeError(f"after {timeout} s these tasks are not in the states that were waited for: {late}")
        time.sleep(_POLL_SECONDS)


def _has(name: str, state: str) -> bool:
    return len(list_tasks(filters=[("name", "=", name), ("state", "=", state)])) == 1


def verify_tasks_running_or_terminated(task_pids: Mapping[str, tuple[int, str | None]], expect_num_tasks: int) -> bool:
    """Checks that tasks are listed as running while their processes run them, and as ended otherwise.

    Args:
        task_pids: Names of tasks, each with its process and the state in which it ends; None for any end.
        expect_num_tasks: How many there must be.

    Returns:
        True.

    Raises:
        AssertionError: a list says something else.
    """
    assert len(task_pids) == expect_num_tasks, task_pids
    for name, (pid, ends) in task_pids.items():
        found = list_tasks(filters=[("name", "=", name)], detail=True)
        assert len(found) == 1, found
        state = found[0]["state"]
        expected = ("RUNNING",) if _is_actor_task_running(pid, name) else (ends,) if ends else ("FAILED", "FINISHED")
        assert state in expected, (found[0], expected)
    return True


def _is_actor_task_running(actor_pid: int, task_name: str) -> bool:
    """Returns whether the title of a process says that it runs a task."""
    try:
        with open(f"/proc/{actor_pid}/cmdline", "rb") as file:
            title = os.fsdecode(file.read()).partition("\0")[0]
    except OSError:
        return False
    return title.startswith(("ray::", "eagleray::")) and task_name in title
