"""The place of ``ray._private.ray_logging``: programs import the class ``LoggingConfig`` from below it."""
