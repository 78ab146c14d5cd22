"""The version, for the package and for what it publishes; a checkout that nobody installed has it too."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
