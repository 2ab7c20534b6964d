"""The parts of a call: options, resources, arguments, templates, the environment. The package also loads the Go core.

Imports the leaves and ``values``.
"""
