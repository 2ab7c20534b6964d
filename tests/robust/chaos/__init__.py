"""Runs under kill -9: a seed chooses the work and the victims, and everything has to come out right."""
