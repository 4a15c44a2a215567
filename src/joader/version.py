"""The version, for the package index, the handshake and users."""

__version__ = "0.1.0"
