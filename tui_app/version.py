"""The version of Plimsoll, read by the build and by ``plimsoll --version``."""

__version__ = "1.0.0"
