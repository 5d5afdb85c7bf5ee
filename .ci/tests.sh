#!/usr/bin/env bash
# The README's test command; a few tests that fail beside others are run once more alone, and named.
# Four workers on two cores now and then starve a test that waits for a server or a screen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly ALLOWED=3
failures=.pytest_cache/v/cache/lastfailed

rm -f "$failures"
status=0
# The same walks are made in a real tmux by another lane.
bash ./test --ignore=tests/walkthroughs || status=$?
# 1 says that tests failed; anything else is no matter of single tests.
[ "$status" -eq 1 ] || exit "$status"

names="$(.venv/bin/python -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))))' "$failures")"
if [ "$(wc -l <<<"$names")" -gt "$ALLOWED" ]; then
  exit "$status"
fi
echo; echo "Once more, alone:"; echo "$names"
bash ./test -n 0 --ignore=tests/walkthroughs --last-failed --last-failed-no-failures none
echo; echo "FLAKY, to be mended: failed beside others, passed alone:"; echo "$names"
