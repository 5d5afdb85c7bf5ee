"""Runs all benchmarks: ``python -m tests.benchmarks``."""

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    folder = str(Path(__file__).parent)
    sys.exit(pytest.main(["-q", "-s", "-p", "no:xdist", "-m", "benchmark", folder, *sys.argv[1:]]))
