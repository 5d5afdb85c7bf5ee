#!/usr/bin/env bash
# Style, types and directions of imports; needs the dev extra in .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
.venv/bin/lint-imports
.venv/bin/python -m pytest -q tests/test_house.py
