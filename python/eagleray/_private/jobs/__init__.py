"""Submitted jobs: the client, the server behind HTTP, and the actor that supervises a job."""
