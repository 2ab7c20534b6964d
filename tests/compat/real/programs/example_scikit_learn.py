"""scikit-learn: a search over models and a forest, with joblib's backend `ray`."""

import joblib
import numpy as np
import ray
from ray.util.joblib import register_ray
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

if __name__ == "__main__":
    ray.init(num_cpus=2)
    register_ray()
    data, kinds = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "kernel": ["linear", "rbf"]}, cv=3)
    with joblib.parallel_backend("ray"):
        search.fit(data, kinds)
        scores = cross_val_score(SVC(C=1), data, kinds, cv=5)
        forest = RandomForestClassifier(n_estimators=20, random_state=3).fit(data, kinds)
        squares = joblib.Parallel(n_jobs=2)(joblib.delayed(pow)(i, 2) for i in range(50))
    print(search.best_params_, f"{search.best_score_:.6f}", search.cv_results_["rank_test_score"].tolist())
    print(np.round(scores, 6).tolist())
    print(np.round(forest.feature_importances_, 6).tolist())
    print(sum(squares))
    ray.shutdown()
