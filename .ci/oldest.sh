#!/usr/bin/env bash
# The tests of what stands on pydantic-ai's hooks, under the oldest version of it that is supported. ./test has run
# all of them under the newest one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

oldest="$(sed -n 's/.*pydantic-ai-slim\[openai,anthropic,google\]>=\([0-9.]*\),.*/\1/p' pyproject.toml)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# What is installed already, with another pydantic-ai.
cp -r .venv "$work/venv"
python="$work/venv/bin/python"
"$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  "pydantic-ai-slim[openai,anthropic,google]==$oldest.*"
"$python" -c 'import pydantic_ai; print("pydantic-ai", pydantic_ai.__version__)'
"$python" -m pytest -q \
  tests/agent/test_catalog.py tests/agent/test_own_agent.py \
  tests/context/test_{governor,requests,standalone}.py tests/wires/test_wire_form.py
