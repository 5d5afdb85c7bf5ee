#!/usr/bin/env bash
# The tests against public language servers of npm and PyPI, pinned because what they answer is the point.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
  typescript@5.9.3 typescript-language-server@5.3.0 pyright@1.1.414 yaml-language-server@1.25.0
.venv/bin/python -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  basedpyright==1.40.2 ruff==0.17.6
run_tests env PLIMSOLL_NODE_MODULES="$folder/node_modules" PLIMSOLL_LANGUAGE_SERVERS="$folder/venv/bin" \
  .venv/bin/python -m pytest -q -n 0 -m language_servers_public \
  $(marked language_servers_public)
