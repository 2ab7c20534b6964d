"""A backend for joblib: ``Parallel`` runs its calls in a pool of actors. joblib is not installed with Eagle Ray."""

from __future__ import annotations

__all__ = ["register_ray"]


def register_ray() -> None:
    """Registers the backend ``"ray"``, for ``joblib.parallel_config("ray")`` and ``Parallel(backend="ray")``.

    Raises:
        ImportError: joblib is not installed, or is older than 1.3.
    """
    try:
        from joblib.parallel import register_parallel_backend

        from eagleray.util.joblib.ray_backend import RayBackend
    except ImportError as error:
        raise ImportError(
            f"register_ray() needs the package joblib, 1.3 or later: run `pip install joblib` ({error})", name="joblib"
        ) from error
    register_parallel_backend("ray", RayBackend)
