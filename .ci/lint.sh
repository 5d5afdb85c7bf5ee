#!/usr/bin/env bash
# Style and types; needs the dev extra in .venv. The rules of the house are among the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
