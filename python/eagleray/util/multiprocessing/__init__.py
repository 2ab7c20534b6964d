"""The standard library's ``multiprocessing.Pool`` whose workers are actors, on any node of the cluster."""

from multiprocessing import JoinableQueue, TimeoutError

from eagleray.util.multiprocessing.pool import Pool

__all__ = ["JoinableQueue", "Pool", "TimeoutError"]
