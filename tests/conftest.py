"""What holds for all Python tests."""

from __future__ import annotations

import signal

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


heed_signals()
