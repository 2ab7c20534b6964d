"""A worker's life: the zygote that forks it, the loop that takes calls, the actor that it may host.

Imports everything but ``tools``.
"""
