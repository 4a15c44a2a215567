"""The version, for the package index, the handshake and people."""

__version__ = "0.1.0"
