# Sourced: run_tests COMMAND... runs tests; a few that fail beside others are run once more alone, and named.
# Four workers, or two lanes, on two cores now and then starve a test that waits for a server or a screen.

readonly ALLOWED=3

run_tests() {
  local status=0 names cache
  # Lanes run beside each other in one checkout.
  cache="$(mktemp -d)"
  "$@" -o cache_dir="$cache" || status=$?
  # 1 says that tests failed; anything else is no matter of single tests.
  [ "$status" -eq 1 ] || return "$status"
  names="$(.venv/bin/python -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))))' \
    "$cache/v/cache/lastfailed")"
  [ "$(wc -l <<<"$names")" -le "$ALLOWED" ] || return "$status"
  echo; echo "Once more, alone:"; echo "$names"
  "$@" -o cache_dir="$cache" -n 0 --last-failed --last-failed-no-failures none || return
  echo; echo "FLAKY, to be mended: failed beside others, passed alone:"; echo "$names"
}

# marked MARK: the files whose tests have a mark; reading all others takes longer than running most of these.
marked() { grep -rl --include='test_*.py' "mark\.$1\b" tests; }
