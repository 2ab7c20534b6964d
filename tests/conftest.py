"""What holds for all Python tests."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile

import pytest

#: Signals that `nohup` and a shell's `&` have a program ignore. Children inherit that.
OFTEN_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def heed_signals() -> None:
    """Makes programs that the tests start heed signals that this process was told to ignore.

    A signal with a handler has its default effect again in a program that is started from here. This process goes on
    ignoring SIGHUP and SIGQUIT; SIGINT raises ``KeyboardInterrupt``, which some tests send to themselves.
    """
    for number in OFTEN_IGNORED:
        if signal.getsignal(number) is signal.SIG_IGN:
            handler = signal.default_int_handler if number == signal.SIGINT else lambda *_: None
            signal.signal(number, handler)


def own_folder() -> str | None:
    """Gives a process that runs a part of the tests beside others a folder for its sessions.

    Programs that look for the running session of this user find that of their own test there.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    folder = tempfile.mkdtemp(prefix="er", dir="/tmp")  # the paths of sockets must be short
    os.environ["EAGLERAY_TMPDIR"] = folder
    return folder


#: No test uses the libraries of Ray's that the user has installed: what is missing is an error in all of them.
os.environ["EAGLERAY_RAY_LIBS"] = os.path.join(tempfile.gettempdir(), "eagleray-no-libraries")
heed_signals()
folder_of_sessions = own_folder()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the switch for slow tests."""
    parser.addoption("--slow", action="store_true", help="run the tests that take long or need the network, too")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marks of tests that `make pytest` runs one by one at the end, and of those that it leaves out."""
    config.addinivalue_line("markers", "alone: needs a machine on which no other test runs")
    config.addinivalue_line("markers", "slow: takes longer than half a minute, or needs the network; runs with --slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out slow tests unless they were asked for."""
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="takes long: --slow"))


def pytest_unconfigure() -> None:
    """Removes the folder."""
    if folder_of_sessions is not None:
        shutil.rmtree(folder_of_sessions, ignore_errors=True)
