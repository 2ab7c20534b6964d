"""Runs under kill -9: a seed chooses the work and the victims, and everything has to come out right."""

import os

#: Seconds after which something that should come does not.
LIMIT = float(os.environ.get("EAGLERAY_CHAOS_PATIENCE", "60"))
