"""sktime: forecasts are evaluated with the backend `ray`, one task for each part of the series."""

import ray
from sktime.forecasting.model_evaluation import evaluate
from sktime.forecasting.naive import NaiveForecaster
from sktime.split import ExpandingWindowSplitter
from sktime.utils._testing.series import _make_series

if __name__ == "__main__":
    ray.init(num_cpus=2)
    series = _make_series(n_timepoints=60, random_state=3)
    parts = ExpandingWindowSplitter(initial_window=24, step_length=12, fh=[1, 2, 3])
    kept = {"ray_remote_args": {"num_cpus": 1}, "shutdown_ray": False}
    found = evaluate(NaiveForecaster("mean"), parts, series, backend="ray", backend_params=kept)
    print(found.filter(like="test_").round(6).to_dict())
    print(found["len_train_window"].tolist(), len(found))
    assert ray.is_initialized()
    ray.shutdown()
