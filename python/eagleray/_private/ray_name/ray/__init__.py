"""The name ``ray`` for ``eagleray``. All that is imported from it is eagleray's: see ``eagleray._private.alias``."""

import sys

if __name__ == "ray":
    from eagleray._private import alias

    alias.become(sys.modules[__name__])
