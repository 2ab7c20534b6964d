"""What a call is made of: options, resources, arguments, templates, the environment; and the way into the Go core.

Imports the leaves and ``values``.
"""
