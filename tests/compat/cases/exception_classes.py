"""The classes of exceptions: what each is a kind of, what its constructor takes, and what it keeps."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

from casebook import case

NAMES = """
ActorAlreadyExistsError ActorDiedError ActorHandleNotFoundError ActorPlacementGroupRemoved ActorUnavailableError
ActorUnschedulableError AsyncioActorExit AuthenticationError CrossLanguageError GetTimeoutError LocalRayletDiedError
NodeDiedError ObjectFetchTimedOutError ObjectFreedError ObjectLostError ObjectReconstructionFailedError
ObjectRefStreamEndOfStreamError ObjectStoreFullError OufOfBandObjectRefSerializationException OutOfDiskError
OutOfMemoryError OwnerDiedError PendingCallsLimitExceeded PlasmaObjectNotAvailable RayActorError
RayCgraphCapacityExceeded RayChannelError RayChannelTimeoutError RayDirectTransportError RayError RaySystemError
RayTaskError ReferenceCountingAssertionError RpcError RuntimeEnvSetupError
StreamingGeneratorReplayInconsistentError TaskCancelledError TaskPlacementGroupRemoved TaskUnschedulableError
UnserializableException UserCodeException WorkerCrashedError
""".split()

KEYWORDS = {
    "ActorAlreadyExistsError": "error_message",
    "ActorHandleNotFoundError": "error_message",
    "ActorUnschedulableError": "error_message",
    "NodeDiedError": "message",
    "OutOfMemoryError": "message",
    "RpcError": "message",
    "RuntimeEnvSetupError": "error_message",
    "TaskCancelledError": "error_message",
    "TaskUnschedulableError": "error_message",
}


def classes(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.exceptions")


@case
def each_class_is_of_these_kinds(ray: Any) -> None:
    module = classes(ray)
    for name in NAMES:
        kinds = [kind.__name__ for kind in getattr(module, name).__mro__ if not kind.__name__.startswith("_")]
        print(name, *kinds[1:])


@case
def constructors_without_arguments(ray: Any) -> None:
    module = classes(ray)
    for name in NAMES:
        try:
            getattr(module, name)()
        except TypeError:
            print(name, "needs an argument")
        else:
            print(name, "needs none")


@case
def texts_by_keyword_are_kept_and_pickled(ray: Any) -> None:
    module = classes(ray)
    for name, keyword in KEYWORDS.items():
        error = getattr(module, name)(**{keyword: "what happened"})
        print(name, getattr(error, keyword), "what happened" in str(error))
    error = module.RpcError("lost", rpc_code=14)
    print(error.message, error.rpc_code, str(error))
    again = pickle.loads(pickle.dumps(module.ActorAlreadyExistsError("taken")))
    print(again.error_message, str(again), isinstance(again, ValueError))
    print(str(module.RuntimeEnvSetupError()))
