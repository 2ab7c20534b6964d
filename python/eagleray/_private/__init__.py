"""What is behind the public names.

Beside this file stand the leaves, which import no package below: ``values``, ``calls``, ``session``, ``worker``,
``tools``. Each of these imports only those before it in this list, inside functions too. The modules ``refs``,
``generators``, ``functions`` and ``task_error`` belong to ``values``; they stand here because pickles name them.
``internal_api``, ``ray_perf`` and ``cli`` are names that others use.
"""
