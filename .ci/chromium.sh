#!/usr/bin/env bash
# The served screen in Debian's Chromium.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

run_tests .venv/bin/python -m pytest -q -m chromium $(marked chromium)
