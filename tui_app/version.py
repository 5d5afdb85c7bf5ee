"""The version of Plimsoll, read by the build and by ``plimsoll --version``."""

__version__ = "0.1.0"
