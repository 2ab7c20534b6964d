"""A folder for ``PYTHONPATH``: the package ``ray`` in it is eagleray. ``eagleray run`` puts it there."""

#: The variable with which a zygote starts in whose workers ``ray`` means eagleray. User code does not see it.
VARIABLE = "EAGLERAY_ALIAS"
