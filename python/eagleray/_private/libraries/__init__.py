"""The files of Ray's own libraries (Data, Tune, Train, …): where they are kept, how they get there, how they are found.

Nothing of Ray's is part of this package. ``eagleray ray-libs install`` takes Ray's wheel, checks it, and unpacks its
Python files into the user's cache (``install``, ``cache``). When ``ray`` means eagleray, a module that eagleray itself
does not have comes from there (``finder``).
"""
