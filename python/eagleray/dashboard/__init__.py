"""The names below ``ray.dashboard`` that programs use to submit jobs. There is no dashboard."""
