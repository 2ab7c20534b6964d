"""Values and how they travel: envelopes, pickles, references inside them, errors, arrays.

Imports the leaves only, which are the modules beside this package.
"""
