#!/usr/bin/env bash
# The tests with programs of others: MCP servers of npm and PyPI, an editor's client, a proxy; pinned because what
# they answer is the point.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
  @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 \
  @modelcontextprotocol/server-memory@2026.8.31 acpx@0.19.1
.venv/bin/python -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  mcp-server-git==2026.10.19 mcp-server-fetch==2026.10.24 mcp-server-time==2026.10.19 proxy.py==2.4.10
run_tests env PLIMSOLL_NODE_MODULES="$folder/node_modules" PLIMSOLL_MCP_PROGRAMS="$folder/venv/bin" \
  .venv/bin/python -m pytest -q -n 0 -m mcp_public $(marked mcp_public)
