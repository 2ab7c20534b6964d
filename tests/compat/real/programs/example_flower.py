"""Flower: clients of a federated training, simulated in actors of Ray."""

import logging

import numpy as np
from flwr.client import ClientApp, NumPyClient
from flwr.common import ndarrays_to_parameters
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.simulation import run_simulation

logging.getLogger("flwr").setLevel(logging.CRITICAL)
found = []


class Client(NumPyClient):
    """A client that has one number, towards which it moves the parameters."""

    def __init__(self, number):
        self.number = number

    def fit(self, parameters, config):
        return [(part + self.number) / 2 for part in parameters], 10 * (self.number + 1), {}

    def evaluate(self, parameters, config):
        return float(sum(np.abs(part - self.number).sum() for part in parameters)), self.number + 1, {}


def client(context):
    return Client(int(context.node_config["partition-id"])).to_client()


def server(context):
    first = ndarrays_to_parameters([np.zeros(3), np.ones((2, 2))])
    strategy = FedAvg(initial_parameters=first, evaluate_metrics_aggregation_fn=lambda m: {})
    aggregate = strategy.aggregate_evaluate

    def keep(round_number, results, failures):
        loss, metrics = aggregate(round_number, results, failures)
        found.append((round_number, len(results), len(failures), None if loss is None else round(loss, 6)))
        return loss, metrics

    strategy.aggregate_evaluate = keep
    return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=3))


if __name__ == "__main__":
    run_simulation(
        ServerApp(server_fn=server),
        ClientApp(client_fn=client),
        num_supernodes=4,
        backend_config={"client_resources": {"num_cpus": 1}, "init_args": {"num_cpus": 2}},
    )
    print(found)
