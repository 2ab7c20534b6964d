"""Heads are replaced by those of another build and back: a short form of ``make robust PARTS=upgrade``."""

from __future__ import annotations

import os

import pytest
from chaos.upgrade import main

SEED = os.environ.get("SEED", "0")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_heads_are_replaced_in_any_order() -> None:
    assert main(["--turns=6", *([f"--seed={SEED}"] if SEED != "0" else [])]) == 0
