#!/usr/bin/env bash
# Erase: resumed where it was killed, limited, read back, with a receipt; trash given back or kept; drives
# that lie; two drives at once.
# lab: --disks 2 --disk-size 3G --timeout 1200
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
# shellcheck source=tests/lab/erase.sh
. "$(dirname "$0")/../erase.sh"
small_flavors
MORE=2
VG=ephlvm

# config KEYS: what stands in "defaults" of the configuration, beside the small flavors.
config() { sed -i "s|^{\(\"defaults\": {.*}, \)\?\"flavors\"|{${1:+\"defaults\": {$1\}, }\"flavors\"|" /etc/ephlvm/ephlvm.json; }

test_clean_space_needs_no_erase() {
	expect 0 ephlvm pool init --yes /dev/nvme0n1
	expect 0 ephlvm create "$(uuid 1)" --flavor t.small --fs none --dry-run
	lacks "$out" erase
	expect 0 ephlvm -v create "$(uuid 1)" --flavor t.small --fs none
	lacks "$err" "step erase-write"
	is_zero "$out"
	# A purge of ours carries the proof on.
	t=$(token)
	plant "$out" "$t"
	expect 0 ephlvm delete --yes --wait "$(uuid 1)"
	expect 0 ephlvm -v create "$(uuid 1)" --flavor t.small --fs none
	lacks "$err" "step erase-write"
	same "$(found /dev/nvme0n1 "$t")" 0
	expect 0 ephlvm delete --yes --wait "$(uuid 1)"
}

test_more_what_others_did_makes_it_dirty() {
	t=$(token)
	lvcreate -qq -y -L 128M -n plain $VG
	plant /dev/$VG/plain "$t"
	lvremove -qq -y $VG/plain
	expect 0 ephlvm -v create "$(uuid 1)" --flavor t.small --fs none
	holds "$err" "step erase-write"
	same "$(found /dev/nvme0n1 "$t")" 0
	expect 0 ephlvm delete --yes --wait "$(uuid 1)"
	# Scrub proves it again.
	expect 0 ephlvm pool scrub
	expect 0 ephlvm -v create "$(uuid 1)" --flavor t.small --fs none
	lacks "$err" "step erase-write"
	expect 0 ephlvm delete --yes --wait "$(uuid 1)"
}

test_more_restore_gives_it_back() {
	expect 0 ephlvm create "$(uuid 2)" --flavor t.tiny
	dd if=/dev/urandom of="$out" bs=1M count=64 oflag=direct status=none
	sum=$(sha256sum <"$out")
	expect 0 ephlvm delete --yes "$(uuid 2)"
	expect 0 ephlvm restore "$(uuid 2)" --dry-run
	expect 0 ephlvm restore "$(uuid 2)"
	same "$out" "/dev/$VG/$(uuid 2)_disk.eph0"
	same "$(sha256sum <"$out")" "$sum"
	expect 0 ephlvm restore "$(uuid 2)"
	# Deleted twice: which one is meant must be said.
	expect 0 ephlvm delete --yes "$(uuid 2)"
	expect 0 ephlvm create "$(uuid 2)" --flavor t.tiny
	expect 4 ephlvm restore "$(uuid 2)"
	holds "$err" "$(uuid 2)_disk.eph0"
	expect 0 ephlvm delete --yes "$(uuid 2)"
	expect 2 ephlvm restore "$(uuid 2)"
	expect 3 ephlvm restore "$(uuid 3)"
	expect 3 ephlvm restore $VG/nonesuch
	# Begun is too late.
	EPHLVM_STOP_AT=erase-write ephlvm purge "$(uuid 2)" >/dev/null 2>&1 || true
	begun=$(lvs --noheadings -o lv_name,lv_tags $VG | awk '/ephlvm.erase=/ { print $1 }')
	[ -n "$begun" ]
	expect 4 ephlvm restore "$VG/$begun"
	holds "$err" "has begun"
	other=$(trash_of "$(uuid 2)" | grep -v "$begun")
	expect 0 ephlvm restore "$VG/$other"
	expect 0 ephlvm delete --yes --wait "$(uuid 2)"
	same "$(ephlvm list --noheadings | wc -l)" 0
}

test_more_half_made_is_not_restored() {
	EPHLVM_STOP_AT=format ephlvm create "$(uuid 4)" --flavor t.tiny >/dev/null 2>&1 || true
	expect 0 ephlvm activate --all
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 4)" | xargs)" trash
	expect 4 ephlvm restore "$(uuid 4)"
	holds "$err" "never ready"
	expect 0 ephlvm purge
}

test_more_hold_keeps_it() {
	expect 0 ephlvm create "$(uuid 5)" --flavor t.tiny
	expect 0 ephlvm hold "$(uuid 5)"
	expect 0 ephlvm delete --yes "$(uuid 5)"
	expect 0 ephlvm purge
	holds "$out" held
	same "$(trash_of "$(uuid 5)" | wc -l)" 1
	expect 4 ephlvm purge "$(uuid 5)"
	holds "$err" "unhold"
	expect 0 ephlvm unhold "$(uuid 5)"
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings | wc -l)" 0
	# By age: what is named is erased all the same.
	config '"trash_hold": 3600'
	expect 0 ephlvm create "$(uuid 5)" --flavor t.tiny
	expect 0 ephlvm delete --yes "$(uuid 5)"
	expect 0 ephlvm purge
	holds "$out" "held until 20"
	expect 0 ephlvm purge "$(uuid 5)"
	same "$(ephlvm list --noheadings | wc -l)" 0
	config ''
}

test_killed_erase_is_resumed() {
	expect 0 ephlvm create "$(uuid 6)" --flavor t.large --fs none
	# Five seconds at that rate are the most that a kill can cost; metadata and such fit into the sixth.
	killed_and_resumed "$(uuid 6)" $((40 << 20)) 3 $((6 * (40 << 20))) 0
}

test_more_signal_leaves_a_resumable_state() {
	expect 0 ephlvm create "$(uuid 7)" --flavor t.large --fs none
	expect 0 ephlvm delete --yes "$(uuid 7)"
	ephlvm purge --rate 40M >/run/purge.log 2>&1 &
	pid=$!
	until_true 120 sh -c "lvs --noheadings -o lv_tags $VG | grep -q 'erase=zero:1/1:'"
	until_true 120 sh -c 'ls /var/lib/ephlvm/erase/* 2>/dev/null'
	kill -INT $pid
	got=0
	wait $pid || got=$?
	[ $got != 0 ]
	same "$(ephlvm list --noheadings -o state | xargs)" trash
	same "$(lvs --noheadings -o lv_active $VG | xargs)" ""
	lacks "$(lvs --noheadings -o lv_tags $VG)" "ephlvm.fail"
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings | wc -l)" 0
}

test_more_receipts_tell_and_chain() {
	expect 0 ephlvm create "$(uuid 8)" --flavor t.tiny
	expect 0 ephlvm delete --yes "$(uuid 8)"
	lv_uuid=$(lvs --noheadings -o lv_uuid "$VG/$(trash_of "$(uuid 8)")" | xargs)
	expect 0 ephlvm purge --json
	line=$(printf '%s' "$out" | tr -d ' \n')
	holds "$line" '"receipt":{'
	holds "$line" "\"lv_uuid\":\"$lv_uuid\""
	holds "$(receipts_of "$(uuid 8)")" '"drives":["EPHLVM-LAB-0"]'
	holds "$(receipts_of "$(uuid 8)")" '"method":"zero"'
	same "$(stat -c %a /var/lib/ephlvm/receipts)" 700
	same "$(stat -c %a /var/lib/ephlvm/receipts/receipts.jsonl)" 600
	expect 0 ephlvm receipts
	# One changed word, and the chain is broken.
	cp /var/lib/ephlvm/receipts/receipts.jsonl /run/receipts
	sed -i '2s/"method":"zero"/"method":"none"/' /var/lib/ephlvm/receipts/receipts.jsonl
	expect 7 ephlvm receipts
	cp /run/receipts /var/lib/ephlvm/receipts/receipts.jsonl
	expect 0 ephlvm receipts
}

test_more_no_receipt_no_removal() {
	expect 0 ephlvm create "$(uuid 9)" --flavor t.tiny
	expect 0 ephlvm delete --yes "$(uuid 9)"
	mount --bind /var/lib/ephlvm/receipts /var/lib/ephlvm/receipts
	mount -o remount,bind,ro /var/lib/ephlvm/receipts
	got=0
	ephlvm purge >/run/purge.log 2>&1 || got=$?
	umount /var/lib/ephlvm/receipts
	cat /run/purge.log
	same $got 7
	same "$(ephlvm list --noheadings -o state | xargs)" trash
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings | wc -l)" 0
}

test_more_methods() {
	local method
	for method in discard shred zero; do
		expect 0 ephlvm create "$(uuid 10)" --flavor t.tiny
		t=$(token)
		plant "$out" "$t"
		expect 0 ephlvm delete --yes "$(uuid 10)"
		expect 0 ephlvm purge --method $method --verify full
		same "$(found /dev/nvme0n1 "$t")" 0
		holds "$(receipts_of "$(uuid 10)")" "\"method\":\"$method\""
	done
	echo "SHOW means: $(ephlvm receipts "$(uuid 10)" --noheadings -o method,means,passes | xargs)"
	expect 2 ephlvm purge --method wish
	# None leaves the bytes, says so, and the next volume there is erased.
	expect 0 ephlvm pool scrub
	expect 0 ephlvm create "$(uuid 10)" --flavor t.tiny --fs none
	t=$(token)
	plant "$out" "$t"
	expect 0 ephlvm delete --yes "$(uuid 10)"
	expect 0 ephlvm purge --method none
	holds "$err" "without an erase"
	[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	expect 0 ephlvm create "$(uuid 11)" --flavor t.tiny --fs none
	is_zero "$out"
	same "$(found /dev/nvme0n1 "$t")" 0
	expect 0 ephlvm delete --yes --wait "$(uuid 11)"
}

test_more_several_are_removed_in_one_call() {
	local n
	for n in 21 22 23 24; do expect 0 ephlvm create "$(uuid $n)" --flavor t.tiny --fs none; done
	for n in 21 22 23 24; do expect 0 ephlvm delete --yes "$(uuid $n)"; done
	seqno=$(vgs --noheadings -o seqno $VG)
	expect 0 ephlvm -v purge
	same "$(ephlvm list --noheadings | wc -l)" 0
	same "$(grep -c 'step remove$' <<<"$err")" 1
	# Each is marked in a commit of its own; their removal is one.
	same "$(($(vgs --noheadings -o seqno $VG) - seqno))" 5
}

test_more_one_open_does_not_keep_the_others() {
	local n
	for n in 21 22 23; do expect 0 ephlvm create "$(uuid $n)" --flavor t.tiny --fs none; done
	for n in 21 22 23; do expect 0 ephlvm delete --yes "$(uuid $n)"; done
	lvchange -ay -K "$VG/$(trash_of "$(uuid 22)")"
	exec 9<"/dev/$VG/$(trash_of "$(uuid 22)")"
	expect 8 ephlvm purge
	exec 9<&-
	same "$(ephlvm list --noheadings -o instance | xargs)" "$(uuid 22)"
	expect 0 ephlvm purge
}

# A SCSI drive that says that discards are done and keeps the data.
test_more_drive_that_keeps_what_is_discarded() {
	modprobe scsi_debug dev_size_mb=256 lbpu=1 lbpws=0 lbprz=0 physblk_exp=3
	until_true 30 sh -c 'lsblk -dno NAME,MODEL | grep -q scsi_debug'
	drive=/dev/$(lsblk -dno NAME,MODEL | awk '/scsi_debug/ { print $1 }')
	expect 0 ephlvm pool init --yes --pool liar --vg liar "$drive"
	expect 0 ephlvm create "$(uuid 31)" --flavor t.tiny --pool liar --fs none
	t=$(token)
	plant "$out" "$t"
	# The control: what it acknowledges is not so.
	blkdiscard "$out"
	[ "$(found "$out" "$t")" -gt 0 ]
	expect 0 ephlvm delete --yes "$(uuid 31)"
	expect 0 ephlvm -v purge --method discard
	same "$(found "$drive" "$t")" 0
	line=$(receipts_of "$(uuid 31)")
	lacks "$line" '"means":"discard"'
	echo "SHOW it said discarded and was not; erased by $(ephlvm receipts "$(uuid 31)" --noheadings -o means | xargs)"
	vgremove -qq -ff -y liar
}

# A drive that acknowledges writes and drops those of every other second.
test_more_drive_that_drops_writes() {
	local sectors=$((1 << 20))
	echo "0 $sectors linear /dev/nvme1n1 2048" | dmsetup create drops
	expect 0 ephlvm pool init --yes --pool drops --vg drops /dev/mapper/drops
	expect 0 ephlvm create "$(uuid 32)" --flavor t.small --pool drops --fs none
	dd if=/dev/urandom of="$out" bs=1M count=256 oflag=direct status=none
	plant "$out" "$(token)"
	expect 0 ephlvm delete --yes "$(uuid 32)"
	start=$(pvs --noheadings --nosuffix --units s -o pe_start /dev/mapper/drops | xargs)
	# Metadata is written as it should be; the data area drops.
	{
		echo "0 $start linear /dev/nvme1n1 2048"
		echo "$start $((sectors - start)) flakey /dev/nvme1n1 $((2048 + start)) 1 1 1 drop_writes"
	} >/run/drops.table
	dmsetup suspend drops && dmsetup reload drops </run/drops.table && dmsetup resume drops
	expect 7 ephlvm purge --rate 64M
	holds "$err" "other bytes than zero"
	same "$(ephlvm list --noheadings -o state --pool drops | xargs)" trash
	lacks "$(ephlvm receipts --noheadings -o instance)" "$(uuid 32)"
	# The drive is mended: the erase begins anew, not where it believed to be.
	echo "0 $sectors linear /dev/nvme1n1 2048" >/run/drops.table
	dmsetup suspend drops && dmsetup reload drops </run/drops.table && dmsetup resume drops
	expect 0 ephlvm purge --verify full
	holds "$(receipts_of "$(uuid 32)")" '"resumed_bytes":0'
	vgremove -qq -ff -y drops
	dmsetup remove drops
	wipefs -qa /dev/nvme1n1
}

test_more_two_drives_at_once() {
	local one two n
	expect 0 ephlvm pool init --yes --pool second --vg second /dev/nvme1n1
	for n in 1 2; do
		expect 0 ephlvm create "$(uuid $((40 + n)))" --flavor t.large --pool ephlvm --fs none
		expect 0 ephlvm delete --yes "$(uuid $((40 + n)))"
		[ $n = 1 ] || {
			expect 0 ephlvm create "$(uuid 43)" --flavor t.large --pool second --fs none
			expect 0 ephlvm delete --yes "$(uuid 43)"
		}
		one=$(date +%s%N)
		expect 0 ephlvm purge --rate 40M
		two=$(date +%s%N)
		eval "took$n=$(((two - one) / 1000000))"
	done
	same "$(ephlvm list --noheadings | wc -l)" 0
	# shellcheck disable=SC2154 # by eval
	echo "SHOW one drive $took1 ms, two drives at once $took2 ms, ratio $(awk "BEGIN { printf \"%.2f\", $took2 / $took1 }")"
}

run_tests
