"""How calls ended: exit codes, and reports of runners, compilers and linters, recognised by their form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.ledger.outcomes import exit_code, handle_state, outcome_of, report_counts
from tui_app.context.ledger.tools import Command, FileUse, HandleUse

BAD_PYTEST = """\
F.                                                                       [100%]
=================================== FAILURES ===================================
__________________________________ test_tide ___________________________________

    def test_tide():
>       assert 4 == 5
E       assert 4 == 5

tests/test_report.py:41: AssertionError
=========================== short test summary info ============================
FAILED tests/test_report.py::test_tide - assert 4 == 5
1 failed, 13 passed in 0.03s"""
BROKEN_PYTEST = """\
==================================== ERRORS ====================================
_______________________ ERROR collecting tests/test_a.py _______________________
E   ModuleNotFoundError: No module named 'foo'
=========================== short test summary info ============================
ERROR tests/test_a.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.10s ==============================="""
UNITTEST = "----------\nRan {} tests in 0.012s\n\n{}"
GO = "--- FAIL: TestFog (0.01s)\n    a_test.go:2: 40\nFAIL\nFAIL\tlamp/fog\t0.5s\nok  \tlamp/sun\t0.2s\nFAIL"
GO_ALL = (
    "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\nFAIL\tlamp\t0.002s"
)
GO_BUILD = "# lamp/gate\ngate/lock.go:41:7: undefined: turnLock\nFAIL\tlamp/gate [build failed]\nFAIL"
CARGO = "test result: {}. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
JEST = (
    "FAIL src/a.test.ts\n  ● adds\n\nTest Suites: 1 failed, 3 passed, 4 total\n"
    "Tests:       2 failed, 1 skipped, 17 passed, 20 total\nSnapshots:   0 total\nTime:        1.2 s"
)
VITEST = " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 8 passed | 2 skipped (11)\n"
MOCHA = (
    "  adder\n    ✓ adds\n    1) subtracts\n\n\n  12 passing (30ms)\n  1 pending\n  2 failing\n\n  1) adder"
)
NODE = "{0} tests 5\n{0} suites 1\n{0} pass 4\n{0} fail 1\n{0} cancelled 0\n{0} skipped 0"
MAVEN_TEST = "[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE!\n"
MAVEN = "[ERROR] Tests run: {}, Failures: {}, Errors: {}, Skipped: {}\n[INFO] \n[INFO] BUILD FAILURE"
GRADLE = "> Task :test FAILED\n\n14 tests completed, 2 failed, 1 skipped\n\nBUILD FAILED in 3s"
DOTNET = (
    "{}!  - Failed:     {}, Passed:    {}, Skipped:     0, Total:    14, Duration: 20 ms - A.dll (net8.0)\n"
)
CTEST = "{}% tests passed, {} tests failed out of 3\n\nTotal Test time (real) =   0.03 sec"
RSPEC = (
    "Finished in 0.01 seconds\n14 examples, 2 failures, 1 pending\n\nFailed examples:\n\nrspec ./a_spec.rb:3"
)
PHPUNIT = (
    "There was 1 failure:\n\n1) LampTest\n\nFAILURES!\nTests: 14, Assertions: 30, Errors: 1, Failures: 2."
)
TSC = "src/tide.ts(3,8): error TS1259: no default\nsrc/moon.ts(9,1): error TS2304: Cannot find name 'x'."
ESLINT = "/w/a.js\n  1:7  error  'x' is never used  no-unused-vars\n\n✖ 3 problems (2 errors, 1 warning)"
MAKE = "x.c:3:5: error: use of undeclared identifier 'y'\nmake: *** [Makefile:9: x.o] Error 1"
RUST = "error[E0425]: cannot find value `x` in this scope\n --> src/main.rs:2:5\n\nerror: could not compile"

REPORTS = [
    ("pytest", "tests/a.py ....\n\n====== 14 passed, 2 skipped in 0.52s ======", "ok", "14 passed"),
    ("pytest", BAD_PYTEST, "failed", "1 failed, 13 passed"),
    ("pytest", BROKEN_PYTEST, "failed", "1 error"),
    ("pytest", "2 failed, 120 passed, 1 xfailed, 4 warnings, 1 error in 65.10s (0:01:05)", "failed",
     "2 failed, 1 error, 120 passed"),
    ("pytest", "\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m3 passed\x1b[0m\x1b[31m in 0.12s\x1b[0m", "failed",
     "1 failed, 3 passed"),
    ("pytest | tail -1", "1 failed, 13 passed in 0.03s", "failed", "1 failed, 13 passed"),
    ("python -m unittest", UNITTEST.format(3, "OK"), "ok", "3 passed"),
    ("python -m unittest", UNITTEST.format(9, "OK (skipped=1)"), "ok", "8 passed"),
    ("python -m unittest", UNITTEST.format(15, "FAILED (failures=1, errors=2)"), "failed",
     "1 failed, 2 errors, 12 passed"),
    ("python -m unittest", UNITTEST.format(12, "FAILED (failures=2, skipped=1)"), "failed",
     "2 failed, 9 passed"),
    ("go test ./...", "ok  \tlamp/fog\t0.4s\nok  \tlamp\t(cached)\n?   \tx\t[no test files]", "ok", "ok"),
    ("go test ./...", GO, "failed", "1 failed"),
    ("go test -v ./...", GO_ALL, "failed", "1 failed, 1 passed"),
    ("go test ./...", GO_BUILD, "failed", "1 failed"),
    ("cargo test", CARGO.format("ok", 2, 0) + CARGO.format("ok", 1, 0), "ok", "3 passed"),
    ("cargo test", CARGO.format("FAILED", 3, 1) + "\nerror: test failed", "failed", "1 failed, 3 passed"),
    ("cargo build", RUST, "failed", "failed"),
    ("npx jest", JEST, "failed", "2 failed, 17 passed"),
    ("npm test", "PASS src/a.test.ts\n\nTests:       5 passed, 5 total\nTime: 0.5 s", "ok", "5 passed"),
    ("npx vitest run", VITEST, "failed", "1 failed, 8 passed"),
    ("npx vitest run", " Test Files  1 passed (1)\n      Tests  3 passed (3)\n", "ok", "3 passed"),
    ("npx mocha", MOCHA, "failed", "2 failed, 12 passed"),
    ("npx mocha", "  3 passing (5ms)\n", "ok", "3 passed"),
    ("node --test", NODE.format("#"), "failed", "1 failed, 4 passed"),
    ("node --test", NODE.format("ℹ"), "failed", "1 failed, 4 passed"),
    ("mvn test", MAVEN_TEST + MAVEN.format(14, 1, 2, 1), "failed", "1 failed, 2 errors, 10 passed"),
    ("mvn test", MAVEN.format(4, 0, 0, 0).replace("FAILURE", "SUCCESS") + "\n" + MAVEN.format(3, 1, 0, 0),
     "failed", "1 failed, 6 passed"),
    ("./gradlew test", GRADLE, "failed", "2 failed, 11 passed"),
    ("./gradlew test", "BUILD SUCCESSFUL in 2s\n3 actionable tasks: 1 executed", "ok", "ok"),
    ("dotnet test", DOTNET.format("Passed", 0, 13), "ok", "13 passed"),
    ("dotnet test", DOTNET.format("Passed", 0, 13) + DOTNET.format("Failed", 1, 2), "failed",
     "1 failed, 15 passed"),
    ("ctest", CTEST.format(67, 1), "failed", "1 failed, 2 passed"),
    ("ctest", CTEST.format(100, 0), "ok", "3 passed"),
    ("rspec", RSPEC, "failed", "2 failed, 11 passed"),
    ("bundle exec rspec", "14 examples, 0 failures", "ok", "14 passed"),
    ("vendor/bin/phpunit", PHPUNIT, "failed", "2 failed, 1 error"),
    ("vendor/bin/phpunit", "Time: 00:00.020\n\nOK (14 tests, 30 assertions)", "ok", "14 passed"),
    ("npx tsc --noEmit", TSC, "failed", "2 errors"),
    ("npx tsc --noEmit", "", "ok", "ok"),
    ("npx eslint .", ESLINT, "failed", "2 errors"),
    ("npx eslint .", "✖ 1 problem (0 errors, 1 warning)", "ok", "ok"),
    ("ruff check .", "a.py:1:8: F401 [*] `os` imported but unused\nFound 3 errors.", "failed", "3 errors"),
    ("ruff check .", "All checks passed!", "ok", "ok"),
    ("mypy src", 'a.py:3: error: Name "x" is not defined\nFound 1 error in 1 file (checked 4 source files)',
     "failed", "1 error"),
    ("mypy src", "Success: no issues found in 4 source files", "ok", "ok"),
    ("make", MAKE, "failed", "exit 1"),
    ("make", "cc -c x.c\ncc -o x x.o", "ok", "ok"),
    # A line of nothing but counts at the end, whatever the runner.
    ("cargo nextest run", "     Summary [   0.015s] 10 tests run: 9 passed, 1 failed, 0 skipped", "failed",
     "1 failed, 9 passed"),
    ("bun test", " 3 pass\n 1 fail\n 4 expect() calls\nRan 4 tests across 1 files. [12.00ms]", "failed",
     "1 failed, 3 passed"),
    ("deno test", "ok | 3 passed | 0 failed (14ms)", "ok", "3 passed"),
    ("deno test", "FAILED | 2 passed | 1 failed (14ms)\n", "failed", "1 failed, 2 passed"),
    ("npx playwright test", "  1 failed\n    [chromium] › a.spec.ts:3:1 › has title\n  3 passed (5.0s)",
     "failed", "1 failed, 3 passed"),
    ("npx playwright test", "  9 failed\n" + "    [chromium] › a.spec.ts:3:1\n" * 9 + "  3 passed (5.0s)",
     "failed", "9 failed, 3 passed"),
    ("bundle exec rspec", "14 examples, 2 failures\n\nFailed examples:\n\n" + "rspec ./a_spec.rb:3\n" * 30,
     "failed", "2 failed, 12 passed"),
    ("swift test", "\t Executed 5 tests, with 1 failure (0 unexpected) in 0.003 (0.005) seconds", "failed",
     "1 failed, 4 passed"),
    ("mix test", "Finished in 0.04 seconds\n5 tests, 1 failure\n\nRandomized with seed 0", "failed",
     "1 failed, 4 passed"),
    ("sbt test", "[error] Failed: Total 5, Failed 1, Errors 0, Passed 4\n[error] Failed tests:\n[error] \tx",
     "failed", "1 failed, 4 passed"),
    ("rake test", "5 runs, 8 assertions, 1 failures, 0 errors, 0 skips", "failed", "1 failed, 4 passed"),
    ("rake test", "5 runs, 8 assertions, 0 failures, 0 errors, 0 skips", "ok", "5 passed"),
    ("Invoke-Pester", "Tests Passed: 3, Failed: 1, Skipped: 0, Inconclusive: 0, NotRun: 0", "failed",
     "1 failed, 3 passed"),
    ("Rscript test.R", "[ FAIL 1 | WARN 0 | SKIP 0 | PASS 4 ]", "failed", "1 failed, 4 passed"),
    ("busted", "3 successes / 1 failure / 0 errors / 0 pending : 0.01 seconds", "failed",
     "1 failed, 3 passed"),
    ("zig build test", "3 passed; 0 skipped; 1 failed.", "failed", "1 failed, 3 passed"),
    ("vendor/bin/pest", "  Tests:    1 failed, 4 passed (9 assertions)\n  Duration: 0.10s", "failed",
     "1 failed, 4 passed"),
    ("dotnet test", "Test summary: total: 5, failed: 1, succeeded: 4, skipped: 0, duration: 1.1s", "failed",
     "1 failed, 4 passed"),
    ("stack test", "1 out of 5 tests failed (0.00s)", "failed", "1 failed"),
    ("stack test", "All 5 tests passed (0.00s)", "ok", "5 passed"),
    ("./catch", "test cases: 3 | 2 passed | 1 failed\nassertions: 5 | 4 passed | 1 failed", "failed",
     "1 failed, 2 passed"),
    ("npx pyright", "/a/b.py:3:5 - x is bad (reportX)\n2 errors, 1 warning, 0 informations ", "failed",
     "2 errors"),
    ("bats test", "1..3\nok 1 a\nnot ok 2 b\n# (in test file a.bats, line 3)\nok 3 c", "failed",
     "1 failed, 2 passed"),
    ("build/tests", "[  PASSED  ] 3 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B\n", "failed",
     "1 failed, 3 passed"),
    ("flutter test", "00:01 +1: a\n00:02 +5 -1: Some tests failed.", "failed", "1 failed, 5 passed"),
    ("prove -r t", "t/b.t .. Failed 1/5 subtests\nResult: FAIL", "failed", "failed"),
    # Other lines with numbers.
    ("./audit", "3 failed logins", "ok", "ok"),
    ("./load", "Imported 100 rows, 3 failed", "ok", "ok"),
    ("./load", "retries: 3, errors: 2, rows: 9", "ok", "ok"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "output", "state", "told"), REPORTS)
def test_reports_by_their_form(line: str, output: str, state: str, told: str) -> None:
    outcome = outcome_of(Command(line), output, "success")
    assert (outcome.state, outcome.describe()) == (state, told)


@pytest.mark.parametrize(
    ("line", "output", "told", "state", "said"),
    [
        # Exit codes, as various programs report them.
        ("make", "Exit code 2\nboom", "success", "failed", "exit 2"),
        ("make", "boom\nexit code: 2", "success", "failed", "exit 2"),
        ("python a.py", "Exit code 3 after 0.2 s.\nboom", "success", "failed", "exit 3"),
        ("python a.py", "Exit code 0 after 12.0 s.", "success", "ok", "ok"),
        ("make", "Error: Exit code 2\nboom", "failed", "failed", "exit 2"),
        ("make", "boom\n[exit code 1]", "success", "failed", "exit 1"),
        ("make", "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nboom", "success", "failed", "exit 2"),
        ("make", "Process exited with code 2\nOutput:\nboom", "success", "failed", "exit 2"),
        ("make", "boom\n[The command completed with exit code 2.]", "success", "failed", "exit 2"),
        ("make", '{"output": "boom", "metadata": {"exit_code": 2}}', "success", "failed", "exit 2"),
        ("make", 'Output:\n{"output": "boom", "exit_code": 2}', "success", "failed", "exit 2"),
        ("make", "all good\n[exit code 0]", "success", "ok", "ok"),
        ("make", "boom", "failed", "failed", "failed"),
        # A pipe has the exit code of its last program.
        ("make | tail -2", "error: x is y\n[exit code 0]", "success", "failed", "failed"),
        ("make || true", "make: *** [all] Error 2\n", "success", "failed", "exit 2"),
        ("npm test 2>&1 | tail -20", "FAIL src/a.test.ts\n[exit code 0]", "success", "failed", "failed"),
        ("make | tail -2", "all good", "success", "", ""),
        # Finding nothing, or printing another program's errors, is no failure.
        ("grep -n nothing a.py", "Command exited with code 1", "failed", "ok", "exit 1"),
        ("diff a b", "exit code: 1", "failed", "ok", "exit 1"),
        ("npm run check 2>&1 | grep 'error TS'", "Command exited with code 1", "failed", "ok", "exit 1"),
        ("git log --oneline", "fix: Error: 3 failed", "success", "ok", "ok"),
        ("cat old.log", "error: x is y\n1 failed, 2 passed in 0.1s", "success", "ok", "1 failed, 2 passed"),
        ("cat missing.py", "cat: missing.py: No such file or directory\nexit code: 1", "success", "failed",
         "exit 1"),
        # Who or what stopped it.
        ("make", "Timed out after 60 s.", "success", "failed", "failed"),
        ("make", "[Request interrupted by user for tool use]", "success", "cut", "cut"),
        ("make", "", "interrupted", "cut", "cut"),
        ("make", "", "denied", "refused", "you refused"),
        ("make", "The user doesn't want to proceed with this tool use.", "failed", "refused", "you refused"),
        ("make", "Not run: the user's preTool hook echo declined this call: not now", "denied", "barred",
         "not allowed"),
        ("make", 'Not done: the rule "run_command *" forbids it. Do not try', "denied", "barred",
         "not allowed"),
        ("make", "Not done: the user said no, because: it is late. Do not", "denied", "refused",
         "you refused"),
        ("make", "Not run: the user declined this call.", "failed", "refused", "you refused"),
        ("make", "The user doesn't want to take this action right now. STOP what you are doing now.",
         "failed", "refused", "you refused"),
        ("make", "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it "
         "was a file edit). To tell you how to proceed, the user said:\nuse ninja", "failed", "refused",
         "you refused"),
        # Output that only begins like a refusal.
        ("./x", "Rejected by user", "success", "ok", "ok"),
        ("./x", "Rejected by user", "denied", "refused", "you refused"),
        ("./x", "Cancelled by user: test_x\n3 passed in 1.0s", "success", "ok", "3 passed"),
        ("./x", "not run: 3 tests\nall good", "success", "ok", "ok"),
        ("./x", "Permission denied by OS", "success", "ok", "ok"),
        ("./x", "Interrupted by user: test_x\nall good", "success", "ok", "ok"),
        ("./x", "The user doesn't want to proceed with this tool use. As told.", "success", "ok", "ok"),
        ("cat notes.md", "Not run: the user declined this call.", "success", "ok", "ok"),
    ],
)  # fmt: skip
def test_ends_of_commands(line: str, output: str, told: str, state: str, said: str) -> None:
    outcome = outcome_of(Command(line), output, told)
    assert (outcome.state, outcome.describe()) == (state, said)


@pytest.mark.parametrize(
    ("said", "told", "state"),
    [
        ("ok", "success", "ok"),
        ("disk full", "failed", "failed"),
        ("File has not been read yet.", "retried", "failed"),
        ("no", "denied", "refused"),
        ("Declined by the user.", "success", "refused"),
        ("<tool_use_error>String to replace not found</tool_use_error>", "success", "failed"),
        ('{"error": "not unique"}', "success", "failed"),
        ("No replacement was performed, old_str `x` did not appear verbatim in a.py.", "success", "failed"),
        ("String to replace not found in file.", "success", "failed"),
        ("Edited: a.py", "success", "ok"),
        ("ENOENT: no such file or directory", "success", "failed"),
        ('{"error": null, "changed": 1}', "success", "ok"),
        ("Error: (none)", "success", "ok"),
        ("Permission denied by OS: a.py", "failed", "failed"),
        # The content of an edited file is not a message of the tool.
        ("The file a.py has been edited:\n  3\tnames must be unique\n  4\tError: no", "success", "ok"),
    ],
)
def test_ends_of_other_tools(said: str, told: str, state: str) -> None:
    assert outcome_of(FileUse("a.py", "edited"), said, told).state == state


@pytest.mark.parametrize(
    ("output", "first"),
    [
        (BAD_PYTEST, "E assert 4 == 5"),
        ("Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'name'\nexit code 1",
         "KeyError: 'name'"),
        (MAKE, "x.c:3:5: error: use of undeclared identifier 'y'"),
        ("boom\n[The command completed with exit code 2.]", "boom"),
        ("Exit code 2", ""),
    ],
)  # fmt: skip
def test_the_line_that_tells_most_comes_first(output: str, first: str) -> None:
    lines = outcome_of(Command("./run"), output, "failed").lines
    assert (lines[0] if lines else "") == first


GEMINI = "Error: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: 4242\nProcess Group PGID: 1"
CODEX = (
    "Chunk ID: a1\nWall time: 1.0 seconds\nProcess running with session ID 77\nOutput:\nready\nexit code 0"
)


@pytest.mark.parametrize(
    ("line", "background", "output", "handle"),
    [
        ("npm start", True, "Command running in background with ID: bash_3. Output is written.", "bash_3"),
        ("npm start", True, "Started in the background as t1. Look at it with tasks.", "t1"),
        ("npm start", True, "Runs in the background as t1. t1 running, 0 s. No new output, 0 lines.", "t1"),
        ("npm start", False, "Process running with session ID 7", "7"),
        ("npm start", False, CODEX, "77"),
        ("npm start &", False, GEMINI, "4242"),
        ("npm start", False, "Command was manually backgrounded by user with ID: b1", "b1"),
        ("npm start", False, "Command moved to background (PID: 42). Output hidden.", "42"),
        ("npm start", False, "Command is still running in terminal 3", "3"),
        ("npm start", False, "Command is running in terminal with ID=ab-1", "ab-1"),
        ("npm start", False, "<command started in background with shellId: 5>", "5"),
        # It keeps running although nothing names it.
        ("npm start", True, "", ""),
        ("npm start", True, "exit code 0", ""),
        ("npm start &", False, "", ""),
        ("cd w && nohup ./s > log 2>&1 &", False, "[1] 4242", ""),
    ],
)  # fmt: skip
def test_a_background_command_is_running(line: str, background: bool, output: str, handle: str) -> None:
    outcome = outcome_of(Command(line, background), output, "success")
    assert (outcome.state, outcome.handle) == ("running", handle)


@pytest.mark.parametrize(
    ("line", "background", "output", "state"),
    [
        ("echo a # b &", False, "a", "ok"),
        ("make & echo $!", False, "4242", ""),
        ("npm start", True, "Exit code 1\nport in use", "failed"),
        ("npm start", True, "t1 exit 3, 0 s. No new output, 0 lines in all.", "failed"),
        ("make", False, "Running the task with id: 5", "ok"),
        ("make", False, "one\nCommand running in background with ID: b1\ntwo\nthree", "ok"),
    ],
)
def test_what_is_not_left_running(line: str, background: bool, output: str, state: str) -> None:
    assert outcome_of(Command(line, background), output, "success").state == state


@pytest.mark.parametrize(
    ("output", "state"),
    [
        ("<status>running</status>\n<stdout>x</stdout>", "running"),
        ("<status>completed</status>\n<exit_code>0</exit_code>", "over"),
        ("Process exited with code 0\nOutput:", "over"),
        ("listening on 8080", ""),
        (CODEX, "running"),
        ("t1 running, 3 s. No new output, 4 lines in all.", "running"),
        ("t1 exit 0, 3 s. No new output, 4 lines in all.", "over"),
        ("t1 was stopped, with everything it had started.", "over"),
        ("worker 3: exit code 0 seen\nlistening", ""),
    ],
)
def test_what_is_told_of_a_background_command(output: str, state: str) -> None:
    assert handle_state(output) == state


@given(st.text(max_size=300) | st.sampled_from([row[1] for row in REPORTS]), st.booleans())
def test_any_output_can_be_read(output: str, failed: bool) -> None:
    told = "failed" if failed else "success"
    for operation in (Command("make | tail"), FileUse("a", "edited"), HandleUse("1"), None):
        outcome = outcome_of(operation, output, told)
        assert outcome.state in {"", "ok", "failed", "refused", "cut", "running"}
        assert len(outcome.lines) <= 2
    assert exit_code(output) is None or isinstance(exit_code(output), int)
    report_counts(output * 2_000)
