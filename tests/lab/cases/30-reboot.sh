#!/usr/bin/env bash
# The host reboots, cleanly or not, with its drives kept.
# lab: --disk-size 2G --timeout 600
# boots: 2
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/../lib.sh"
small_flavors

first_boot() {
	set -e
	ephlvm pool init --yes /dev/nvme0n1 2>&1
	for n in 1 2 3; do ephlvm create "$(uuid $n)" --flavor t.tiny; done
	mkdir -p /mnt/t
	mount "/dev/ephlvm/$(uuid 1)_disk.eph0" /mnt/t
	echo kept >/mnt/t/file
	# What a guest made of the second: a partition table and its own bytes.
	sgdisk -Z -n 1:2048:20000 "/dev/ephlvm/$(uuid 2)_disk.eph0" >/dev/null
	dd if=/dev/urandom of="/dev/ephlvm/$(uuid 2)_disk.eph0" bs=1M seek=4 count=8 conv=notrunc,fsync status=none
	sha256sum <"/dev/ephlvm/$(uuid 2)_disk.eph0" >/mnt/t/sum
	umount /mnt/t
	ephlvm delete --yes "$(uuid 3)"
	EPHLVM_STOP_AT=format ephlvm create "$(uuid 4)" --flavor t.tiny || true
	sync
}

test_second_boot_has_nothing_active() {
	same "$(lvs --noheadings -o lv_active ephlvm | xargs)" ""
	same "$(ephlvm list --noheadings | wc -l)" 4
}

test_activate_all_brings_ready_ones_back() {
	expect 0 ephlvm activate --all --dry-run
	same "$(lvs --noheadings -o lv_active ephlvm | xargs)" ""
	expect 0 ephlvm activate --all
	same "$(ephlvm list --noheadings -o active --state ready | xargs)" "yes yes"
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 4)" | xargs)" trash
	same "$(ephlvm list --noheadings -o active --state trash | xargs)" "no no"
	mkdir -p /mnt/t
	mount "/dev/ephlvm/$(uuid 1)_disk.eph0" /mnt/t
	same "$(cat /mnt/t/file)" kept
	expect 0 ephlvm create "$(uuid 2)" --flavor t.tiny
	same "$(sha256sum <"/dev/ephlvm/$(uuid 2)_disk.eph0")" "$(cat /mnt/t/sum)"
	umount /mnt/t
}

test_trash_is_purged_after_the_reboot() {
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings -o state | xargs)" "ready ready"
}

if [ "$BOOT" = 1 ]; then
	if (first_boot) >/run/first 2>&1; then
		:
	fi
	if [ "$(ephlvm list --noheadings | wc -l)" = 4 ]; then
		echo "ok test_first_boot_made_its_volumes"
	else
		echo "not ok test_first_boot_made_its_volumes"
		cat /run/first
	fi
	echo "end of case"
	# No clean shutdown: what reached the drive is what there is.
	lab_crash 0
else
	run_tests
fi
