"""The lines of ``nodes.py``: what work across nodes costs, with the same program for each system."""
