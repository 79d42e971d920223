#!/usr/bin/env bash
# Delete takes the same calls, and the same time, for a disk of any size; what somebody made a snapshot of stays.
# lab: --disk-size 210G --timeout 900
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
small_flavors
MORE=1

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

test_more_same_time() {
	local pairs=7 n begun i
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

# snapshot ORIGIN: somebody's copy-on-write snapshot of it.
snapshot() { lvcreate -qq -y -s -L 64M -n snap "$1"; }

test_a_ready_volume_with_a_snapshot_is_not_deleted() {
	expect 0 ephlvm create "$(uuid 3)" --flavor t.small --fs none
	t=$(token)
	plant "$out" "$t"
	echo "$t" >/run/token3
	snapshot "ephlvm/$(uuid 3)_disk.eph0"
	# How removal leaves it out, asked of LVM itself.
	lacks "$(lvs --noheadings -o lv_name -S 'lv_role!="origin"' ephlvm)" "$(uuid 3)"
	holds "$(lvs --noheadings -o lv_name -S 'lv_role!="origin"' ephlvm)" "$(uuid 1)"
	expect 4 ephlvm delete --yes "$(uuid 3)"
	holds "$err" ephlvm/snap
	holds "$(ephlvm list --json)" "has the snapshot ephlvm/snap"
	lvremove -qq -y ephlvm/snap
	expect 0 ephlvm delete --yes "$(uuid 3)"
}

test_trash_with_a_snapshot_is_not_purged() {
	lvchange -ay "ephlvm/$(trash_of "$(uuid 3)")"
	snapshot "ephlvm/$(trash_of "$(uuid 3)")"
	expect 4 ephlvm purge
	holds "$err" ephlvm/snap
	[ "$(found /dev/ephlvm/snap "$(cat /run/token3)")" -gt 0 ]
	lvremove -qq -y ephlvm/snap
}

# Then part of the tenant's bytes may be in the snapshot: it is not taken along, nor is the volume.
test_a_snapshot_made_during_an_erase_stays() {
	ephlvm purge --rate 8M >/run/o 2>/run/e &
	until_true 120 eval 'ephlvm list --state trash --json | grep -q "\"done_bytes\": *[1-9]"'
	snapshot "ephlvm/$(trash_of "$(uuid 3)")"
	got=0
	wait $! || got=$?
	same "exit $got" "exit 4"
	holds "$(cat /run/e)" snapshot
	same "$(lvs --noheadings -o lv_name ephlvm/snap | xargs)" snap
	lacks "$(ephlvm receipts "$(uuid 3)" --json)" lv_uuid
	lvremove -qq -y ephlvm/snap
	expect 0 ephlvm purge
	same "$(lv_count ephlvm)" 1
}

test_ready_is_what_dev_leads_to() {
	local link
	expect 0 ephlvm create "$(uuid 4)" --flavor t.tiny
	link=$out
	rm "$link"
	expect 7 ephlvm create "$(uuid 4)" --flavor t.tiny
	holds "$err" vgmknodes
	ln -s /dev/null "$link"
	expect 7 ephlvm create "$(uuid 4)" --flavor t.tiny
	holds "$err" "something else"
	rm "$link"
	vgmknodes ephlvm
	expect 0 ephlvm create "$(uuid 4)" --flavor t.tiny
	expect 0 ephlvm delete --yes --wait "$(uuid 4)"
}

run_tests
