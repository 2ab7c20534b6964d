"""What the command ``eagleray`` runs beside the daemon: lists, traces, benchmarks. Nothing imports this package."""
