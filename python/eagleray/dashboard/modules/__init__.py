"""The names below ``ray.dashboard.modules`` that programs use to submit jobs."""
