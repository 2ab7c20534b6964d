"""``experimental.tqdm_ray``: the bars of workers are shown by the driver."""

from __future__ import annotations

import io
import json
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from eagleray._private.session import progress_bars
from eagleray._private.session.printing import Printer
from eagleray.experimental import tqdm_ray


def line(**more: Any) -> str:
    state = {"__magic_token__": progress_bars.MAGIC, "x": 1, "total": 4, "pid": 7, "uuid": "u", "desc": "work"}
    return json.dumps(state | more)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Standard error, on a machine without the package tqdm."""
    out = io.StringIO()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    progress_bars.bars.close()
    monkeypatch.setattr(progress_bars, "sys", types.SimpleNamespace(stderr=out))
    yield out
    progress_bars.bars.close()


PROGRAM = """
import eagleray as ray
from eagleray.experimental import tqdm_ray

@ray.remote
def work(number):
    for _ in tqdm_ray.tqdm(range(number), desc="working", flush_interval_s=0):
        pass
    print("done", number)

ray.init(num_cpus=2)
ray.get([work.remote(5), work.remote(6)])
"""


def test_bars_of_workers_are_shown_and_not_their_messages(script: Callable[..., Any]) -> None:
    done = script(PROGRAM)
    assert "done 5" in done.stdout and "magic" not in done.stdout + done.stderr
    assert (
        "working pid=" in done.stderr
        and "5/5" in done.stderr.replace(".00", "")
        and "6/6" in done.stderr.replace(".00", "")
    )


def test_a_line_about_a_bar_is_no_output(shown: io.StringIO) -> None:
    out = io.StringIO()
    printer = Printer(out=out, err=io.StringIO())
    printer.log(7, "f", False, False, line(), "")
    printer.log(7, "f", False, False, line(x=4, closed=True), "", "10.0.0.2")
    assert out.getvalue() == "" and shown.getvalue() == "(work pid=7) 1/4 it\n(work pid=7, ip=10.0.0.2) 4/4 it\n"
    assert not progress_bars.bars.shown
    printer.log(7, "f", False, False, "about " + progress_bars.MAGIC, "")
    assert "about" in out.getvalue()


@pytest.mark.parametrize(
    "wrong",
    ({"pid": "x"}, {"x": "many"}, {"x": float("inf")}, {"total": []}, {"uuid": 5}, {"uuid": "u" * 200}, {"x": True}),
)
def test_nonsense_shows_no_bar(shown: io.StringIO, wrong: dict[str, Any]) -> None:
    assert progress_bars.bars.line(line(**wrong)) and not progress_bars.bars.shown and not shown.getvalue()


def test_bars_have_a_bound(shown: io.StringIO) -> None:
    for index in range(200):
        progress_bars.bars.line(line(uuid=str(index), desc="x" * 1000))
    assert len(progress_bars.bars._bars) == 100 and len(shown.getvalue().splitlines()[0]) < 350
    progress_bars.bars.close()
    assert not progress_bars.bars.shown


def test_a_bar_of_the_driver_goes_through_its_iterable(shown: io.StringIO) -> None:
    bar = tqdm_ray.tqdm(iter("abc"), desc="letters", total=3, unit="letter", flush_interval_s=0)
    assert list(bar) == ["a", "b", "c"] and bar.n == 3
    assert shown.getvalue().splitlines() == [f"(letters pid={bar._get_state()['pid']}) {n}/3 letter" for n in (0, 3)]
    with tqdm_ray.tqdm(total=10) as other:
        other.update(4)
        other.set_description("now")
        other.refresh()
    other.close()
    assert other.n == 4 and not tqdm_ray.instance().shown
    with pytest.raises(ValueError, match="no iterable"):
        next(iter(tqdm_ray.tqdm(total=1)))


def test_safe_print_prints(capsys: pytest.CaptureFixture[str]) -> None:
    tqdm_ray.safe_print("a", "b", sep="-")
    assert capsys.readouterr().out == "a-b\n"


def test_a_line_that_only_looks_like_a_report_is_shown_as_it_is() -> None:
    out = io.StringIO()
    text = "[" * 100_000 + progress_bars.MAGIC  # JSON that is nested too deeply
    Printer(out=out).log(1, "f", False, False, text, "")
    assert text in out.getvalue()
