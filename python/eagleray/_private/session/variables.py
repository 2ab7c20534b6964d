"""Variables of the environment that Eagle Ray reads, to find those that were mistyped."""

from __future__ import annotations

import os

#: Names without the prefixes ``EAGLERAY_`` and ``RAY_``; docs/environment.md explains each.
_BOTH = """
    ADDRESS TMPDIR TASK_MAX_RETRIES ACCEL_ENV_VAR_OVERRIDE_ON_ZERO TRACE IGNORE_UNHANDLED_ERRORS
    task_retry_delay_ms task_oom_retries task_oom_retry_delay_base_ms max_lineage_bytes lineage_pinning_enabled
    record_ref_creation_sites allow_out_of_band_object_ref_serialization memory_monitor_refresh_ms
    memory_usage_threshold min_memory_free_bytes memory_limit_bytes worker_oom_score_adjustment
    automatic_object_spilling_enabled object_spilling_directory object_spilling_config object_spilling_cache
    object_spilling_threshold local_fs_capacity_threshold min_spilling_size max_io_workers oom_grace_period_s
    gcs_storage_path RUNTIME_ENV_PIP_CACHE_SIZE_GB RUNTIME_ENV_UV_CACHE_SIZE_GB RUNTIME_ENV_WORKING_DIR_CACHE_SIZE_GB
    RUNTIME_ENV_PY_MODULES_CACHE_SIZE_GB OVERRIDE_RESOURCES
""".split()
_OURS = """
    PYTHON BIN INFEASIBLE GPU_FAMILY DEVICE_ROOT DEVICE_TOOLS NVML_LIBRARY CUDA_LIBRARY DEVICE_MEMORY_PROBE LIBCUDA
    NVRTC CUBLAS SYMBOLS MEMORY_ROOT PLANT SESSION_MARK JOB_ID DRIVER_PYTHONPATH ENV_KEY RUNTIME_ENV ZYGOTE_ADDED
    TOKEN_FILE ALIAS LOGGING_CONFIG SUBMISSION_ID GO_PROGRAM GO_WORKER GO_PYTHON GO_BUILD LOCAL_CLUSTER
""".split()
_OURS += [f"RAY{end}" for end in ("_LIBS", "_LIBS_AUTO")]
_RAYS = """
    CLOUD_INSTANCE_ID NAMESPACE DEDUP_LOGS AUTH_MODE AUTH_TOKEN AUTH_TOKEN_PATH SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT
    OVERRIDE_RUNTIME_ENV_DEFAULT_EXCLUDES RUNTIME_ENV_IGNORE_GITIGNORE COLOR_PREFIX RUNTIME_ENV_LOG_TO_DRIVER_ENABLED
    JOB_CONFIG_JSON_ENV_VAR NODE_TYPE_NAME NODE_MARKET_TYPE NODE_REGION NODE_ZONE OVERRIDE_LABELS API_SERVER_ADDRESS
    OVERRIDE_JOB_RUNTIME_ENV JOB_HEADERS JOB_STOP_SIGNAL JOB_STOP_WAIT_TIME_S JOB_START_TIMEOUT_SECONDS
    RUNTIME_ENV_HOOK OVERRIDE_DASHBOARD_URL ENABLE_AUTO_CONNECT RUNTIME_ENV_BEARER_TOKEN
    RUNTIME_ENV_HTTP_USER_AGENT RUNTIME_ENV_CREATE_WORKING_DIR ENABLE_ZERO_COPY_TORCH_TENSORS
    LOGGING_CONFIG_ENCODING
""".split()
KNOWN = frozenset(
    {
        *(f"EAGLERAY_{name}" for name in (*_BOTH, *_OURS)),
        *(f"RAY_{name}" for name in (*_BOTH, *_RAYS)),
    }
)
#: Prefixes of names that are not checked; the last ones belong to this project's benchmark and tests.
_FREE = (
    *("EAGLERAY_EXPERIMENTAL_NOSET_", "RAY_EXPERIMENTAL_NOSET_"),
    *("EAGLERAY_BENCH_", "EAGLERAY_CHAOS_", "EAGLERAY_ROBUST_", "EAGLERAY_FAKE_", "EAGLERAY_TEST_"),
)
#: How similar a name must be to one of Ray's: Ray has hundreds of names that mean nothing here.
_ALIKE = 0.92


def unknown() -> list[str]:
    """Returns a sentence for each variable that was probably mistyped: an unknown name, or one similar to Ray's."""
    found = []
    for name in sorted(os.environ):
        if not name.startswith(("EAGLERAY_", "RAY_")) or name in KNOWN or name.startswith(_FREE):
            continue
        import difflib

        near = difflib.get_close_matches(name, KNOWN, 1, 0.6 if name.startswith("EAGLERAY_") else _ALIKE)
        meant = f": did you mean {near[0]}?" if near else "; docs/environment.md lists those that are."
        if near or name.startswith("EAGLERAY_"):
            found.append(f"the environment variable {name} is not known{meant}")
    return found
