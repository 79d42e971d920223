#!/usr/bin/env bash
# Drives that fail, drives that are gone, a full metadata area, udev that is gone.
# lab: --disks 3 --disk-size 2G --timeout 1200
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
small_flavors

# The pool "flaky" lies on a device-mapper device over nvme0n1, so that its table can be swapped for one
# with an error target. From an offset: the drive below must not show the same PV label.
OFFSET=2048
table_good() {
	echo "0 $(($(blockdev --getsz /dev/nvme0n1) - OFFSET)) linear /dev/nvme0n1 $OFFSET"
}
# table_bad FIRST COUNT: these sectors of the device fail.
table_bad() {
	local end
	end=$(($(blockdev --getsz /dev/nvme0n1) - OFFSET))
	echo "0 $1 linear /dev/nvme0n1 $OFFSET"
	echo "$1 $2 error"
	echo "$(($1 + $2)) $((end - $1 - $2)) linear /dev/nvme0n1 $((OFFSET + $1 + $2))"
}
swap_table() {
	dmsetup suspend --noflush flaky-drive
	dmsetup reload flaky-drive
	dmsetup resume flaky-drive
}

# data_bad KIND: writes behind LVM's metadata on the drive are KIND: error_writes (refused), or drop_writes
# (acknowledged and not done, and so are discards).
data_bad() {
	local start end
	start=$(pvs --noheadings --nosuffix --units s -o pe_start /dev/mapper/flaky-drive | xargs)
	end=$(($(blockdev --getsz /dev/nvme0n1) - OFFSET))
	{
		echo "0 $start linear /dev/nvme0n1 $OFFSET"
		echo "$start $((end - start)) flakey /dev/nvme0n1 $((OFFSET + start)) 0 100 1 $1"
	} | swap_table
}

# A volume group of the pool's name on a drive that is not there yet, as one from another host.
make_other_flaky() {
	truncate -s 300M /run/other.img
	local loop
	loop=$(losetup -f --show /run/other.img)
	vgcreate -qq -y flaky "$loop"
	losetup -d "$loop"
}
make_other_flaky
MORE=2
# A configuration whose deadlines come soon.
cat >/etc/ephlvm/short.json <<-JSON
	{"timeouts": {"command": 5, "lock": 5, "read": 20}, "flavors": {
	  "t.tiny": {"vcpus": 1, "ram": "1G", "root": "1G", "ephemeral": "64M"}}}
JSON
# duo: the pool "duo" on two drives, for one test.
duo() {
	vgremove -qq -ff -y duo 2>/dev/null || true
	wipefs -qa /dev/nvme1n1 /dev/nvme2n1
	expect 0 ephlvm pool init --yes --pool duo /dev/nvme1n1 /dev/nvme2n1
}

test_eio_during_erase_keeps_the_volume() {
	table_good | dmsetup create flaky-drive
	udevadm settle
	expect 0 ephlvm pool init --yes --pool flaky /dev/mapper/flaky-drive
	expect 0 ephlvm create "$(uuid 1)" --flavor t.small --pool flaky
	t=$(token)
	plant "$out" "$t"
	expect 0 ephlvm delete --yes "$(uuid 1)"
	start=$(pvs --noheadings --nosuffix --units s -o pe_start /dev/mapper/flaky-drive | xargs)
	table_bad $((start + 204800)) 8 | swap_table
	expect 7 ephlvm purge
	holds "$err" "Input/output error"
	expect 0 ephlvm list --noheadings -o state --instance "$(uuid 1)"
	same "$(xargs <<<"$out")" trash
	holds "$(lvs --noheadings -o lv_tags flaky | xargs)" "ephlvm.fail=5:"
	expect 0 ephlvm list --noheadings -o warnings --instance "$(uuid 1)"
	holds "$out" "erase failed at byte"
	table_good | swap_table
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings --pool flaky | wc -l)" 0
	same "$(found /dev/nvme0n1 "$t")" 0
}

test_more_eio_during_create_leaves_nothing() {
	start=$(pvs --noheadings --nosuffix --units s -o pe_start /dev/mapper/flaky-drive | xargs)
	table_bad $((start + 204800)) 8 | swap_table
	expect 7 ephlvm create "$(uuid 2)" --flavor t.small --pool flaky
	table_good | swap_table
	same "$(lv_count flaky)" 0
	expect 0 ephlvm create "$(uuid 2)" --flavor t.small --pool flaky
	expect 0 ephlvm delete --yes --wait "$(uuid 2)"
}

test_more_a_drive_that_drops_writes_is_caught() {
	expect 0 ephlvm create "$(uuid 3)" --flavor t.small --pool flaky
	plant "$out" "$(token)"
	expect 0 ephlvm delete --yes "$(uuid 3)"
	data_bad drop_writes
	expect 7 ephlvm purge
	holds "$err" "reads back other bytes than zero"
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 3)" | xargs)" trash
	table_good | swap_table
	expect 0 ephlvm purge
	same "$(lv_count flaky)" 0
}

# On space that is proven clean, so that no erase comes first and finds it out.
test_more_file_system_that_is_not_written() {
	local kind fs
	for fs in ext4 vfat swap; do
		for kind in error_writes drop_writes; do
			expect 0 ephlvm pool scrub flaky
			data_bad $kind
			got=0
			ephlvm -v create "$(uuid 52)" --flavor t.tiny --pool flaky --fs $fs >/run/o 2>/run/e || got=$?
			table_good | swap_table
			cat /run/o /run/e
			same $got 7
			lacks "$(cat /run/e)" "step erase-write"
			# Refused writes are the tool's or the flush's to tell; dropped ones, only the read-back's.
			[ $kind = error_writes ] || holds "$(cat /run/e)" "shows \"nothing\" with label"
			lacks "$(ephlvm list --noheadings -o state --instance "$(uuid 52)")" ready
			expect 0 ephlvm purge
			same "$(lv_count flaky)" 0
		done
	done
}

# Its PCI device goes away, as a drive that died; "echo 1 >rescan" brings it back.
drive_remove() { echo 1 >"$(readlink -f "/sys/block/$1/device/device")/remove"; }
drive_rescan() {
	echo 1 >/sys/bus/pci/rescan
	until_true 30 test -b "/dev/$1"
	udevadm settle
}

test_missing_drive_blocks_what_it_must() {
	duo
	expect 0 ephlvm create "$(uuid 4)" --flavor t.small --pool duo
	t=$(token)
	plant "$out" "$t"
	healthy=$(lvs --noheadings -o devices duo | xargs | sed 's/(.*//')
	case $healthy in
	/dev/nvme1n1) gone=nvme2n1 ;;
	/dev/nvme2n1) gone=nvme1n1 ;;
	esac
	drive_remove "$gone"
	holds "$(vgs --noheadings -o vg_attr duo)" p
	expect 7 ephlvm create "$(uuid 5)" --flavor t.tiny --pool duo
	holds "$err" "lacks 1 of its 2 drives"
	expect 0 ephlvm pool show --json
	holds "$(tr -d ' \n' <<<"$out")" '"allocatable_bytes":0'
	# By its tag: lvrename is refused in a partial VG. And it is erased, since none of it is missing.
	expect 0 ephlvm delete --yes "$(uuid 4)"
	holds "$(lvs --noheadings -o lv_tags duo)" "ephlvm.state=trash"
	same "$(lvs --noheadings -o lv_name duo | xargs)" "$(uuid 4)_disk.eph0"
	same "$(pvs --noheadings -o pv_missing "$healthy" | xargs)" ""
	drive_rescan "$gone"
	same "$(vgs --noheadings -o vg_missing_pv_count duo | xargs)" 0
	# The trash still has the name; create gives it a trash name first, and does not ask the operator to
	# remove it.
	expect 0 ephlvm create "$(uuid 4)" --flavor t.small --pool duo
	same "$(ephlvm list --noheadings -o state --pool duo --instance "$(uuid 4)" | sort | xargs)" "ready trash"
	expect 0 ephlvm delete --yes "$(uuid 4)"
	expect 0 ephlvm purge
	same "$(lv_count duo)" 0
	same "$(found "$healthy" "$t")" 0
	expect 0 ephlvm create "$(uuid 5)" --flavor t.tiny --pool duo
	expect 0 ephlvm delete --yes --wait "$(uuid 5)"
}

test_more_one_dead_volume_keeps_no_other_inactive() {
	duo
	expect 0 ephlvm create "$(uuid 41)" --flavor t.tiny --pool duo
	expect 0 ephlvm create "$(uuid 42)" --flavor t.tiny --pool flaky
	gone=$(lvs --noheadings -o devices duo | xargs | sed 's/(.*//; s,/dev/,,')
	lvchange -qq -an "duo/$(uuid 41)_disk.eph0" "flaky/$(uuid 42)_disk.eph0"
	drive_remove "$gone"
	expect 8 ephlvm activate --all
	holds "$err" "is missing"
	same "$(ephlvm list --noheadings -o active --instance "$(uuid 42)" | xargs)" yes
	drive_rescan "$gone"
	expect 0 ephlvm activate --all
	expect 0 ephlvm delete --yes --wait "$(uuid 41)"
	expect 0 ephlvm delete --yes --wait "$(uuid 42)"
}

# What a kill leaves now and then: a device without a live table.
test_more_device_without_a_table_is_activated_anew() {
	expect 0 ephlvm create "$(uuid 43)" --flavor t.tiny --pool flaky
	lv="$(uuid 43)_disk.eph0"
	dm=$(dmsetup info -c --noheadings -o name,uuid --separator ' ' | grep "$(uuid 43 | sed 's/-/--/g')")
	lvchange -qq -an "flaky/$lv"
	dmsetup create "${dm% *}" --notable -u "${dm#* }"
	expect 0 ephlvm create "$(uuid 43)" --flavor t.tiny --pool flaky
	same "$(blockdev --getsize64 "/dev/flaky/$lv")" $((64 << 20))
	expect 0 ephlvm delete --yes --wait "$(uuid 43)"
}

test_more_volume_on_a_missing_drive_stays_trash() {
	duo
	expect 0 ephlvm create "$(uuid 6)" --flavor t.small --pool duo
	t=$(token)
	plant "$out" "$t"
	gone=$(lvs --noheadings -o devices duo | xargs | sed 's/(.*//; s,/dev/,,')
	lvchange -an duo/"$(uuid 6)_disk.eph0"
	drive_remove "$gone"
	expect 0 ephlvm delete --yes "$(uuid 6)"
	expect 7 ephlvm purge
	holds "$err" "drive"
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 6)" | xargs)" trash
	drive_rescan "$gone"
	vgextend -qq --restoremissing duo "/dev/$gone" 2>/dev/null || true
	expect 0 ephlvm purge
	same "$(lv_count duo)" 0
	same "$(found "/dev/$gone" "$t")" 0
}

test_more_full_metadata_area() {
	vgremove -qq -ff -y duo 2>/dev/null || true
	wipefs -qa /dev/nvme1n1 /dev/nvme2n1
	vgcreate -qq -y small /dev/nvme1n1 # LVM's default area of 1 MiB
	expect 0 ephlvm pool init --yes --vg small --pool small
	holds "$err" "room for about"
	expect 0 ephlvm create "$(uuid 7)" --flavor t.tiny --pool small
	lvcreate -qq -y -an -Zn -Wn -L 4M -n foreign small
	# A foreign LV's tags fill it: commands of many tags, then single ones.
	n=0
	pad=$(printf 'x%.0s' $(seq 900))
	for per in 60 8 1; do
		while :; do
			args=()
			for _ in $(seq $per); do args+=(--addtag "t$n$pad") n=$((n + 1)); done
			lvchange -qq "${args[@]}" small/foreign 2>/dev/null || break
		done
	done
	[ "$(vgs --noheadings --nosuffix --units b -o vg_mda_free small | xargs)" -lt 16384 ]
	expect 5 ephlvm create "$(uuid 8)" --flavor t.tiny --pool small
	holds "$err" "metadata area"
	holds "$err" "$(vgs --noheadings --nosuffix --units b -o vg_mda_free small | xargs) of"
	expect 0 ephlvm delete --yes "$(uuid 7)"
	expect 0 ephlvm purge
	same "$(lvs --noheadings -o lv_name small | xargs)" foreign
	vgremove -qq -ff -y small
}

test_more_pvmove_in_progress_is_not_aborted() {
	duo
	expect 0 ephlvm create "$(uuid 9)" --flavor t.large --pool duo
	from=$(lvs --noheadings -o devices duo | xargs | sed 's/(.*//')
	modprobe dm_mirror
	pvmove -qq -b -i 1 "$from"
	if lvs -a --noheadings -o lv_name duo | grep -q pvmove; then
		expect 4 ephlvm delete --yes "$(uuid 9)"
		holds "$err" "moving"
	else
		echo "the move was over before it was looked at"
		false
	fi
	until_true 120 sh -c '! lvs -a --noheadings -o lv_name duo | grep -q pvmove'
	expect 0 ephlvm delete --yes --wait "$(uuid 9)"
}

test_more_udevd_stopped_ends_at_the_deadline() {
	udevadm control --stop-exec-queue
	kill -STOP "$(pidof systemd-udevd)"
	got=0
	timeout 240 ephlvm --config /etc/ephlvm/short.json create "$(uuid 10)" --flavor t.tiny --pool flaky >/run/o 2>&1 || got=$?
	cat /run/o
	kill -CONT "$(pidof systemd-udevd)"
	udevadm control --start-exec-queue
	udevadm settle
	same "$got" 7
	dmsetup udevcomplete_all -y >/dev/null 2>&1 || true
	# What LVM made meanwhile is found and settled.
	expect 0 ephlvm activate --all
	expect 0 ephlvm purge
	same "$(lv_count flaky)" 0
	expect 0 ephlvm create "$(uuid 10)" --flavor t.tiny --pool flaky
	expect 0 ephlvm delete --yes --wait "$(uuid 10)"
}

test_more_held_lock_ends_at_the_deadline() {
	expect 0 ephlvm create "$(uuid 11)" --flavor t.tiny --pool flaky
	# Give the lock to a process that keeps it, as a hung LVM command does.
	flock /run/lock/lvm/V_flaky sleep 1000 &
	holder=$!
	until_true 10 sh -c '! flock -n /run/lock/lvm/V_flaky true'
	expect 4 ephlvm --config /etc/ephlvm/short.json create "$(uuid 12)" --flavor t.tiny --pool flaky
	expect 4 ephlvm --config /etc/ephlvm/short.json delete --yes "$(uuid 11)"
	start=$SECONDS
	expect 0 ephlvm list --noheadings
	[ $((SECONDS - start)) -lt 20 ]
	holds "$out" "$(uuid 11)"
	pkill -P $holder
	kill $holder 2>/dev/null || true
	wait $holder 2>/dev/null || true
	same "$(lv_count flaky)" 1
	expect 0 ephlvm delete --yes --wait "$(uuid 11)"
}

test_more_two_vgs_of_one_name_are_refused() {
	expect 0 ephlvm create "$(uuid 13)" --flavor t.tiny --pool flaky
	loop=$(losetup -f --show /run/other.img)
	udevadm settle
	uuid2=$(pvs --noheadings -o vg_uuid "$loop" | xargs)
	expect 7 ephlvm create "$(uuid 14)" --flavor t.tiny --pool flaky
	holds "$err" "$uuid2"
	expect 7 ephlvm delete --yes "$(uuid 13)"
	losetup -d "$loop"
	expect 0 ephlvm delete --yes --wait "$(uuid 13)"
}

run_tests
