"""The package ``ray.core``, of which programs use ``generated`` only."""
