"""joader: one daemon per machine prepares training samples once, for every job that needs them.

Importing this package starts nothing and loads neither torch, numpy nor ray.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
