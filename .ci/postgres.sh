#!/usr/bin/env bash
# Sessions on a real PostgreSQL: the tests start a cluster of their own on loopback, in a temporary folder and as
# a user without rights, and stop it by its process number (tests/servers/postgres.py).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/again.sh

bash .ci/packages.sh
# Others there ask for both kinds of stores by what test_store_contract.py defines.
run_tests .venv/bin/python -m pytest -q -n 0 -m postgres tests/session $(marked postgres)
