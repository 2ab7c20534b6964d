"""``get_log``: whole lines, whatever the parts are in which a node gives them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from eagleray.util.state import logs


def parts(pieces: list[bytes], monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    given = iter([*pieces, b""])

    def on(*args: Any) -> bytes:
        return next(given)

    monkeypatch.setattr(logs, "_on", on)
    return list(logs._parts(logs._Place("node", None), 1.0, "file", 0, False, 0.0, None, "strict", False))


def test_lines_come_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parts([b"a\nb", b"c", b"d\n", b"\n", b"e\nlast"], monkeypatch) == [b"a\n", b"bcd\n", b"\n", b"e\n", b"last"]
    assert parts([b"\x1f:", b"name:f\na\n"], monkeypatch) == [b"a\n"]
    assert parts([], monkeypatch) == []


def test_a_line_without_end_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = time.monotonic()
    assert [len(one) for one in parts([b"#" * 1024] * 20_000, monkeypatch)] == [1024 * 20_000]
    assert time.monotonic() - begin < 10  # some milliseconds; a copy of the line with each part would take a minute
