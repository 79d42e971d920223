#!/usr/bin/env bash
# Delete takes the same calls, and the same time, for a disk of any size.
# lab: --disk-size 210G --timeout 900
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
small_flavors

# What a run asked of LVM: its commands without what differs by nature (names, UUIDs, extents, times).
calls_of() { grep -oE 'run: .*|step [a-z-]+' | sed -E 's/[0-9a-zA-Z]{6}(-[0-9a-zA-Z]{4}){5}-[0-9a-zA-Z]{6}/UUID/g; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/INSTANCE/g; s/trash-[0-9a-f]{8}-[0-9A-Za-z]+/TRASH/g'; }

test_make_a_large_and_a_small_one() {
	expect 0 ephlvm pool init --yes /dev/nvme0n1
	expect 0 ephlvm create "$(uuid 1)" --flavor t.tiny --size 200G --fs none
	expect 0 ephlvm create "$(uuid 2)" --flavor t.tiny --size 1G --fs none
}

test_same_calls_for_200_gib_and_for_1_gib() {
	local n
	for n in 1 2; do
		expect 0 ephlvm -v delete --yes "$(uuid $n)"
		calls_of <<<"$err" >/run/calls.$n
		expect 0 ephlvm restore "$(uuid $n)"
	done
	[ -s /run/calls.1 ]
	diff /run/calls.1 /run/calls.2
	echo "SHOW steps of a delete: $(grep -c . /run/calls.1), the same for both: $(grep step /run/calls.1 | sed 's/step //' | xargs)"
}

test_same_time() {
	local pairs=3 n begun i
	[ "${EPHLVM_LAB_ALL:-}" != 1 ] || pairs=7
	for ((i = 0; i < pairs; i++)); do
		for n in 1 2; do
			begun=$(date +%s%N)
			expect 0 ephlvm delete --yes "$(uuid $n)"
			echo $((($(date +%s%N) - begun) / 1000000)) >>/run/took.$n
			expect 0 ephlvm restore "$(uuid $n)"
		done
	done
	median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
	echo "SHOW delete of 200 GiB $(median /run/took.1) ms, of 1 GiB $(median /run/took.2) ms: ratio $(awk -v a="$(median /run/took.1)" -v b="$(median /run/took.2)" 'BEGIN { printf "%.2f", a / b }'), medians of $pairs interleaved pairs"
}

test_the_small_one_is_purged() {
	expect 0 ephlvm delete --yes "$(uuid 2)"
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings | wc -l)" 1
}

run_tests
