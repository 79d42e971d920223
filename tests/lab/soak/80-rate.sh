#!/usr/bin/env bash
# Twenty GiB erased at a rate, and killed ten times at random moments.
# lab: --disk-size 21G --timeout 2400
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
# shellcheck source=tests/lab/erase.sh
. "$(dirname "$0")/../erase.sh"
small_flavors
TEST_LIMIT=2000

test_ten_kills_cost_ten_checkpoints() {
	RANDOM=$((EPHLVM_SEED % 32768))
	expect 0 ephlvm pool init --yes /dev/nvme0n1
	expect 0 ephlvm create "$(uuid 1)" --flavor t.large --size 20G --fs none
	# A checkpoint is due after 1 GiB or five seconds.
	killed_and_resumed "$(uuid 1)" $((200 << 20)) 10 $((1 << 30)) 4
}

run_tests
