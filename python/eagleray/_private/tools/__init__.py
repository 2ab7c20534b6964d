"""Commands of ``eagleray`` that are written in Python: lists, traces, benchmarks. No other package imports this one."""
