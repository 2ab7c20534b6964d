"""Machines on this machine: each has a network namespace of its own, and what lies between them can be cut and delayed.

``Lab`` makes the machines and the network, ``Machine`` runs commands and nodes on them. Everything is unprivileged: a
user namespace gives the rights that it takes. Everything runs in one process namespace, whose first process (``init``)
ends when the program that made the lab ends, however it ends; the kernel ends all others with it, and the network goes
with the last of them.
"""
