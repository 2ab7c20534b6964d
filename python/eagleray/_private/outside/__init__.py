"""What libraries use of Ray's private modules, where Eagle Ray's modules of these names are something else.

``ray._private.worker`` and ``ray._private.state`` are modules of Eagle Ray, too. They give these names on demand.
"""
