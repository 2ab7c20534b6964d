"""A real job on real data: recognising the handwritten digits that scikit-learn ships.

Tasks search for the best model, an actor holds the parameters of a small neural network that other tasks train, a bar
shows the progress, and the best models vote at the end. Run it with `python examples/digits.py`.
"""

from __future__ import annotations

from typing import Any

import eagleray as ray
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from tqdm import tqdm

Parameters = dict[str, Any]
Candidate = tuple[str, dict[str, Any]]

MODELS = {"svm": SVC, "neighbours": KNeighborsClassifier, "trees": ExtraTreesClassifier}
CANDIDATES: list[Candidate] = [
    *(("svm", {"C": c, "gamma": gamma}) for c in (1.0, 5.0, 20.0) for gamma in (0.005, 0.02, 0.05)),
    *(("neighbours", {"n_neighbors": k, "weights": "distance"}) for k in (1, 3, 5, 9)),
    *(("trees", {"n_estimators": n, "random_state": 0}) for n in (25, 50, 100)),
]
HIDDEN = 64
SHARDS = 4
ROUNDS = 150
ACCURACY_WANTED = 0.97


@ray.remote
def score(images: Any, labels: Any, candidate: Candidate) -> tuple[float, Candidate]:
    """The accuracy of one candidate, by cross-validation on the training data."""
    name, settings = candidate
    return float(cross_val_score(MODELS[name](**settings), images, labels, cv=4).mean()), candidate


@ray.remote
def train(images: Any, labels: Any, candidate: Candidate) -> Any:
    name, settings = candidate
    return MODELS[name](**settings).fit(images, labels)


def forward(parameters: Parameters, images: Any) -> tuple[Any, Any]:
    hidden = np.maximum(images @ parameters["w1"] + parameters["b1"], 0)
    scores = hidden @ parameters["w2"] + parameters["b2"]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, scores / scores.sum(axis=1, keepdims=True)


@ray.remote
def gradient(parameters: Parameters, images: Any, labels: Any) -> Parameters:
    """How the network should change to do better on one shard of the data."""
    hidden, probabilities = forward(parameters, images)
    error = (probabilities - np.eye(10)[labels]) / len(labels)
    back = (error @ parameters["w2"].T) * (hidden > 0)
    return {"w1": images.T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ error, "b2": error.sum(axis=0)}


@ray.remote
class ParameterStore:
    """Holds the network's parameters; each round it takes the shards' gradients and moves against their mean."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.parameters: Parameters = {
            "w1": draw.normal(0, 0.15, (64, HIDDEN)),
            "b1": np.zeros(HIDDEN),
            "w2": draw.normal(0, 0.15, (HIDDEN, 10)),
            "b2": np.zeros(10),
        }
        self.velocity: Parameters = {name: np.zeros_like(value) for name, value in self.parameters.items()}

    def read(self) -> Parameters:
        return self.parameters

    def apply(self, *gradients: Parameters) -> Parameters:
        for name in self.parameters:
            mean = sum(part[name] for part in gradients) / len(gradients)
            self.velocity[name] = 0.9 * self.velocity[name] - 0.3 * mean
            self.parameters[name] = self.parameters[name] + self.velocity[name]
        return self.parameters


def search(images: Any, labels: Any) -> list[tuple[float, Candidate]]:
    """Scores all candidates at once, best first; the bar moves as each is done."""
    waiting = [score.remote(images, labels, candidate) for candidate in CANDIDATES]
    found = []
    with tqdm(total=len(waiting), desc="search", unit="model") as bar:
        while waiting:
            ready, waiting = ray.wait(waiting)
            found += ray.get(ready)
            bar.update(len(ready))
    return sorted(found, key=lambda result: -result[0])


def train_network(images: Any, labels: Any) -> Parameters:
    """Data-parallel training: the store is an actor, each shard's gradient a task, and no value passes the driver."""
    store = ParameterStore.remote(seed=0)
    shards = [(ray.put(images[i::SHARDS]), ray.put(labels[i::SHARDS])) for i in range(SHARDS)]
    current = store.read.remote()
    for _ in tqdm(range(ROUNDS), desc="network", unit="round"):
        current = store.apply.remote(*[gradient.remote(current, *shard) for shard in shards])
        ray.wait([current])
    return ray.get(current)


def main() -> None:
    images, labels = load_digits(return_X_y=True)
    images = images / 16
    split = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
    train_images, test_images, train_labels, test_labels = split
    print(f"{len(train_labels)} digits to learn from, {len(test_labels)} kept for the end")

    with ray.init():
        stored = ray.put(train_images), ray.put(train_labels)
        results = search(*stored)
        print("the best of", len(results), "candidates, by cross-validation:")
        for accuracy, (name, settings) in results[:3]:
            print(f"  {accuracy:.4f}  {name} {settings}")
        models = ray.get([train.remote(*stored, candidate) for _, candidate in results[:3]])
        network = train_network(train_images, train_labels)

    answers = [model.predict(test_images) for model in models]
    answers.append(forward(network, test_images)[1].argmax(axis=1))
    votes = np.array([np.bincount(column, minlength=10).argmax() for column in np.array(answers).T])
    accuracies = [float((answer == test_labels).mean()) for answer in (*answers, votes)]
    print("on the digits kept: models " + ", ".join(f"{value:.4f}" for value in accuracies[:3]))
    print(f"network trained through the parameter actor: {accuracies[3]:.4f}")
    print(f"final accuracy, all voting: {accuracies[4]:.4f}")
    assert accuracies[3] >= 0.95, "the network should have learned"
    assert accuracies[4] >= ACCURACY_WANTED, f"expected at least {ACCURACY_WANTED}"
    print("\nLook at: the bars moving while workers compute, and the final accuracy.")


if __name__ == "__main__":
    main()
