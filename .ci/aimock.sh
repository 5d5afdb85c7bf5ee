#!/usr/bin/env bash
# The tests against aimock, which comes from npm; its version is pinned because its wire formats are the point.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
  @copilotkit/aimock@1.43.0
run_tests env PLIMSOLL_NODE_MODULES="$folder/node_modules" .venv/bin/python -m pytest -q -m aimock $(marked aimock)
