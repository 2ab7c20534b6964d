"""The old name of ``eagleray.util.state``."""
