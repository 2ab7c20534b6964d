"""The place of ``ray._private.runtime_env.nsight``: libraries look for this file. Nsight is not run here."""
