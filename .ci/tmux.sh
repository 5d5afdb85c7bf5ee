#!/usr/bin/env bash
# Walks through the program in a real tmux, and commands in bubblewrap; needs Debian's (.ci/packages.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

run_tests bash ./test -m tmux tests/walkthroughs
run_tests bash ./test -m bubblewrap tests/agent/tools
