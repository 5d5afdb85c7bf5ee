#!/usr/bin/env bash
# The README's test command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

# The same walks are made in a real tmux by another lane.
run_tests bash ./test --ignore=tests/walkthroughs
