#!/usr/bin/env bash
# The main job as ./quickstart --here runs it: on a loop file, without a guest.
# lab: --timeout 2400
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
TEST_LIMIT=2000

test_main_job_here() {
	expect 0 "$(dirname "$0")/../mainjob" --here
	same "$(printf '%s\n' "$out" | tail -n 1)" "main job: ok"
	# Nothing is left of it.
	same "$(vgs --noheadings | wc -l)" 0
	same "$(losetup -n -O NAME | wc -l)" 0
	same "$(find /var/tmp -name 'ephlvm-quickstart*' | wc -l)" 0
}

run_tests
