"""The check of exclusive actors finds those that were there twice, and no others."""

from __future__ import annotations

from pathlib import Path

from chaos import tokens


def check(path: Path, *lines: str) -> list[str]:
    path.write_text("".join(line + "\n" for line in lines))
    return tokens.twice(tokens.read(path))


def test_incarnations_that_follow_each_other_are_right(tmp_path: Path) -> None:
    lines = ["x 1 10.0 100", "x 1 10.5 100", "y 3 10.6 101", "x 2 11.0 102", "y 3 11.5 101"]
    assert check(tmp_path / "calls", *lines) == []
    assert check(tmp_path / "calls", *reversed(lines)) == [], "lines may be written late"
    assert tokens.lives(tokens.read(tmp_path / "calls")) == 1
    assert check(tmp_path / "none") == [] and tokens.read(tmp_path / "missing") == []


def test_a_call_of_an_incarnation_that_was_replaced_is_found(tmp_path: Path) -> None:
    (said,) = check(tmp_path / "calls", "x 1 10.0 100", "x 2 11.0 102", "x 1 11.25 100", "y 1 12.0 101")
    assert "x was there twice" in said and "token 1 (process 100) began 0.250 s after" in said


def test_one_token_in_two_processes_is_found(tmp_path: Path) -> None:
    (said,) = check(tmp_path / "calls", "x 1 10.0 100", "x 1 11.0 102")
    assert "processes 100 and 102 both had token 1" in said


def test_what_calls_write_is_read(tmp_path: Path) -> None:
    for token in (1, 2, 1):
        tokens.note(str(tmp_path / "calls"), "x", token)
    calls = tokens.read(tmp_path / "calls")
    assert [call.token for call in calls] == [1, 2, 1] and calls[0].began <= tokens.now()
    assert len(tokens.twice(calls)) == 1
