"""The private half of the package: the code behind the public names.

The modules beside this file are the leaves. They import none of the packages ``values``, ``calls``, ``session``,
``worker``, ``tools``. Each package imports only those before it in this list, inside functions too. The modules
``refs``, ``generators``, ``functions`` and ``task_error`` belong to ``values``; they stand here because pickles name
them.
``internal_api``, ``ray_perf`` and ``cli`` are names that others use.
"""
