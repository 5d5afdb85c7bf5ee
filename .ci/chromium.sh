#!/usr/bin/env bash
# The served screen in Debian's Chromium.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

.venv/bin/python -m pytest -q -m chromium
