"""Other names of ``eagleray.job_submission``."""
