"""pymoo: a problem whose solutions are evaluated one by one, each one as a task."""

import numpy as np
import ray
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import ElementwiseProblem
from pymoo.optimize import minimize
from pymoo.parallelization.ray import RayParallelization


class Bowl(ElementwiseProblem):
    def __init__(self, **kwargs):
        super().__init__(n_var=3, n_obj=1, n_ieq_constr=1, xl=-5, xu=5, **kwargs)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = np.sum((x - 1) ** 2)
        out["G"] = 0.5 - x[0]


if __name__ == "__main__":
    ray.init(num_cpus=2)
    problem = Bowl(elementwise_runner=RayParallelization())
    found = minimize(problem, GA(pop_size=12), ("n_gen", 8), seed=1, verbose=False)
    print(np.round(found.X, 9).tolist(), round(float(found.F[0]), 9), found.algorithm.evaluator.n_eval)
    ray.shutdown()
