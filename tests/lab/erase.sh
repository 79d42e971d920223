# shellcheck shell=bash
# erase.sh - what the cases about erase share. Sourced after tap.sh.

# written DEVICE: bytes that it has written since boot, Write Zeroes included.
written() {
	local field
	read -r -a field <"/sys/class/block/$(basename "$1")/stat"
	echo $((field[6] * 512)) # not by awk, whose numbers end at 2^31 in some
}
receipts_of() { ephlvm receipts "$1" --json | tr -d '\n '; }
# How far the one volume that is trash is erased.
done_bytes() {
	local got
	got=$(ephlvm list --state trash --json | tr -d ' \n' | sed -n 's/.*"done_bytes":\([0-9]*\).*/\1/p')
	echo "${got:-0}"
}
further_than() { [ "$(done_bytes)" -gt "$1" ]; }

# killed_and_resumed INSTANCE RATE KILLS COST LATE: its volume, on the first drive, is deleted and purged at RATE bytes
# a second; the purge is killed KILLS times, each when it stands further than the last time and up to LATE seconds
# after; the next goes on there. A kill may cost COST bytes at most.
killed_and_resumed() {
	local id=$1 rate=$2 kills=$3 cost=$4 late=$5 volume size start total at=0 n pid t
	volume=/dev/ephlvm/${id}_disk.eph0
	size=$(blockdev --getsize64 "$volume")
	t=$(token)
	plant "$volume" "$t"
	expect 0 ephlvm delete --yes "$id"
	start=$(written /dev/nvme0n1)
	for n in $(seq "$kills"); do
		ephlvm purge --rate "$rate" >/run/purge.log 2>&1 &
		pid=$!
		until_true 120 further_than "$at"
		[ "$late" = 0 ] || sleep $((RANDOM % late)).$((RANDOM % 10))
		kill -9 $pid
		wait $pid 2>/dev/null || true
		at=$(done_bytes)
		echo "SHOW kill $n: its checkpoint stands at $((at >> 20)) of $((size >> 20)) MiB"
	done
	expect 4 ephlvm restore "$id"
	expect 0 ephlvm -v purge
	total=$(($(written /dev/nvme0n1) - start))
	echo "SHOW bytes written in all: $((total >> 20)) MiB for $((size >> 20)) MiB and $kills kills"
	[ $total -ge "$size" ]
	[ $total -le $((size + kills * cost + (64 << 20))) ]
	same "$(found /dev/nvme0n1 "$t")" 0
	same "$(find /var/lib/ephlvm/erase -type f | wc -l)" 0
	holds "$(receipts_of "$id")" '"resumed_bytes":'"$at"
}
