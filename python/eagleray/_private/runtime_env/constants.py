"""The part of ``ray._private.runtime_env.constants`` that libraries use."""

#: The variable in which the program of a submitted job finds its runtime environment, as JSON.
RAY_JOB_CONFIG_JSON_ENV_VAR = "RAY_JOB_CONFIG_JSON_ENV_VAR"
