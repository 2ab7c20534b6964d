"""A driver's session: starting and ending it, its daemon, its output, and the functions that need it.

Imports the leaves, ``values``, ``calls`` and the public classes of functions and actors.
"""
