"""Runs under kill -9: a seed chooses the work and the victims, and everything has to come out right."""

import os
import sys
from pathlib import Path

#: Runs use what the tests of whole clusters use, also when they are started by ``python -m chaos.…``.
sys.path[1:1] = [str(Path(__file__).resolve().parents[2] / "e2e"), str(Path(__file__).resolve().parents[2])]

#: Seconds after which something that should come does not.
LIMIT = float(os.environ.get("EAGLERAY_CHAOS_PATIENCE", "60"))
