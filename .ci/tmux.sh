#!/usr/bin/env bash
# Walks through the program in a real tmux; needs Debian's tmux (.ci/packages.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

exec bash ./test -m tmux tests/walkthroughs
