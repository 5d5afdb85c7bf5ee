#!/usr/bin/env bash
# The README's test command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

# More examples of what is made up than a developer waits for.
export HYPOTHESIS_PROFILE=ci
# The same walks are made in a real tmux by another lane.
run_tests bash ./test --ignore=tests/walkthroughs
