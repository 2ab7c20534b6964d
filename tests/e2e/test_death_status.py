"""How a worker ended is known from the session's first moment, whatever its parent, the zygote, is busy with."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from halt import halted

LIMIT = 60


class Doomed:
    def end(self) -> None:
        os._exit(3)


@pytest.mark.parametrize("status", [0, 1, 3, -signal.SIGKILL, -signal.SIGABRT])
def test_the_status_is_known_while_the_zygote_is_busy(fresh: Any, status: int) -> None:
    """In the first seconds of a session it imports modules; here it is stopped, so that it cannot wait for anybody."""

    class Ends:
        def zygote(self) -> int:
            return os.getppid()

        def end(self) -> None:
            if status < 0:
                os.kill(os.getpid(), -status)
            os._exit(status)

    fresh.init(address="local", num_cpus=1, log_to_driver=False)
    actor = fresh.remote(Ends).remote()
    zygote = fresh.get(actor.zygote.remote(), timeout=LIMIT)
    assert Path(f"/proc/{zygote}/comm").read_text() == "eagleray-zygote\n"
    with halted(zygote), pytest.raises(fresh.exceptions.ActorDiedError) as caught:
        fresh.get(actor.end.remote(), timeout=LIMIT)
    told = f"ended with exit code {status}" if status >= 0 else f"killed by signal {-status} ("
    assert told in str(caught.value)


def test_the_status_is_known_from_the_first_moment(fresh: Any) -> None:
    """The zygote's own imports begin when the first worker is there."""
    for _ in range(4):
        fresh.init(address="local", num_cpus=1, log_to_driver=False)
        actor = fresh.remote(Doomed).remote()
        with pytest.raises(fresh.exceptions.ActorDiedError, match="ended with exit code 3"):
            fresh.get(actor.end.remote(), timeout=LIMIT)
        fresh.shutdown()
