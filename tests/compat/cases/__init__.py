"""Differential cases by theme; each module registers its own with `casebook`."""
