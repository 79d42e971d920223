#!/usr/bin/env bash
# The life of thick volumes on a drive full of other data: create, list, delete, purge, and what must
# not happen meanwhile.
# lab: --disk-size 3G --timeout 1500
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
small_flavors
MORE=1
VG=eph-pool # a hyphen: device-mapper doubles it

json() { # FIELD of the first volume in $out
	printf '%s' "$out" | tr -d '\n ' | grep -oE "\"$1\":(\"[^\"]*\"|[^,}]*)" | head -n 1 |
		sed 's/^[^:]*://; s/^"//; s/"$//'
}

test_pool_init_refuses_what_is_in_use() {
	mkfs.ext4 -q -L mine /dev/nvme0n1
	expect 4 ephlvm pool init --yes --vg $VG /dev/nvme0n1
	holds "$err" mine
	holds "$err" EPHLVM-LAB-0
	mkdir -p /mnt/t && mount /dev/nvme0n1 /mnt/t
	expect 4 ephlvm pool init --yes --vg $VG --wipe=EPHLVM-LAB-0 /dev/nvme0n1
	holds "$err" "mounted on /mnt/t"
	umount /mnt/t
	expect 4 ephlvm pool init --yes --vg $VG --wipe=another /dev/nvme0n1
	same "$(blkid -o value -s LABEL /dev/nvme0n1)" mine
	expect 2 ephlvm pool init --vg $VG --wipe=EPHLVM-LAB-0 /dev/nvme0n1
	expect 3 ephlvm pool init --yes /dev/nonesuch
	expect 2 ephlvm pool init --yes --vg "a b" /dev/nvme0n1
	expect 2 ephlvm pool init --yes --vg "$(printf 'h-%.0s' $(seq 40))x" /dev/nvme0n1
	same "$(vgs --noheadings | wc -l)" 0
}

test_pool_init_and_partitions() {
	wipefs -qa /dev/nvme0n1
	sgdisk -o -n 1:2048:+512M /dev/nvme0n1 >/dev/null
	# udev may have the drive open just when sgdisk asks the kernel to read the table.
	until_true 30 sh -c 'blockdev --rereadpt /dev/nvme0n1; udevadm settle; test -b /dev/nvme0n1p1'
	expect 4 ephlvm pool init --yes --vg $VG /dev/nvme0n1
	holds "$err" "1 partitions"
	mkfs.ext4 -q /dev/nvme0n1p1 && mount /dev/nvme0n1p1 /mnt/t
	expect 4 ephlvm pool init --yes --vg $VG --wipe=EPHLVM-LAB-0 /dev/nvme0n1
	holds "$err" "mounted on /mnt/t"
	umount /mnt/t
	vgcreate -qq -y theirs /dev/nvme0n1p1
	expect 4 ephlvm pool init --yes --vg $VG --wipe=EPHLVM-LAB-0 /dev/nvme0n1
	holds "$err" theirs
	vgremove -qq -y theirs
	expect 2 ephlvm pool init --yes --vg $VG --wipe=EPHLVM-LAB-0 /dev/nvme0n1 /dev/nvme0n1
	holds "$err" "named twice"
}

test_pool_init_makes_a_pool() {
	t=$(token)
	plant /dev/nvme0n1 "$t"
	[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	expect 0 ephlvm pool init --yes --dry-run --vg $VG --wipe=EPHLVM-LAB-0 /dev/nvme0n1
	holds "$out" vg-create
	same "$(vgs --noheadings | wc -l)" 0
	expect 0 ephlvm pool init --yes --vg $VG --wipe=EPHLVM-LAB-0 /dev/nvme0n1
	same "$(found /dev/nvme0n1 "$t")" 0
	[ ! -e /dev/nvme0n1p1 ]
	holds "$(vgs --noheadings -o vg_tags $VG)" "ephlvm.pool=ephlvm"
	same "$(vgs --noheadings -o vg_autoactivation --binary $VG | xargs)" 0
	expect 0 ephlvm pool init --yes --vg $VG /dev/nvme0n1
	expect 4 ephlvm pool init --yes --vg other /dev/nvme0n1
	expect 0 ephlvm pool show
	holds "$out" $VG
	echo "SHOW metadata area: $(vgs --noheadings --units m -o vg_mda_size $VG | xargs)"
	[ "$(vgs --noheadings --nosuffix --units m -o vg_mda_size $VG | xargs | cut -d. -f1)" -ge 62 ]
}

test_foreign_lv_is_left_alone() {
	lvcreate -qq -y -L 64M -n foreign_$$ $VG
	lvrename -qq $VG foreign_$$ foreign
	dd if=/dev/urandom of=/dev/$VG/foreign bs=1M count=64 oflag=direct status=none
	sha256sum </dev/$VG/foreign >/run/foreign.sum
	lvcreate -qq -y -L 64M -n "$(uuid 99)_disk.eph0" $VG
	expect 4 ephlvm create "$(uuid 99)" --flavor t.tiny
	holds "$err" "not made by ephlvm"
	expect 0 ephlvm delete --yes "$(uuid 99)"
	lvs $VG/"$(uuid 99)_disk.eph0"
	lvremove -qq -y $VG/"$(uuid 99)_disk.eph0"
}

test_create_makes_a_labelled_volume() {
	expect 0 ephlvm create "$(uuid 1 | tr a-f A-F)" --flavor t.small
	same "$out" "/dev/$VG/$(uuid 1)_disk.eph0"
	same "$(blkid -p -o value -s LABEL "$out")" ephemeral0
	same "$(blkid -p -o value -s TYPE "$out")" ext4
	same "$(blockdev --getsize64 "$out")" $((256 << 20))
	holds "$(lv_tags $VG/"$(uuid 1)_disk.eph0")" "ephlvm.instance=$(uuid 1)"
	holds "$(lv_tags $VG/"$(uuid 1)_disk.eph0")" "ephlvm.state=ready"
	mount -o ro "$out" /mnt/t && umount /mnt/t
}

test_create_again_is_the_same_volume() {
	before=$(dumpe2fs -h /dev/$VG/"$(uuid 1)_disk.eph0" 2>/dev/null | grep 'Filesystem UUID')
	seqno=$(vgs --noheadings -o seqno $VG)
	expect 0 ephlvm create --instance "$(uuid 1)" --flavor t.small
	same "$out" "/dev/$VG/$(uuid 1)_disk.eph0"
	same "$(dumpe2fs -h "$out" 2>/dev/null | grep 'Filesystem UUID')" "$before"
	same "$(vgs --noheadings -o seqno $VG)" "$seqno"
	expect 4 ephlvm create "$(uuid 1)" --flavor t.large
	expect 4 ephlvm create "$(uuid 1)" --flavor t.small --fs xfs
	expect 4 ephlvm create "$(uuid 1)" --flavor t.small --size 300M
}

test_list_and_show_answer_in_json() {
	expect 0 ephlvm list --json
	same "$(json instance)" "$(uuid 1)"
	same "$(json state)" ready
	same "$(json size_bytes)" $((256 << 20))
	same "$(json requested_bytes)" $((256 << 20))
	same "$(json label)" ephemeral0
	same "$(json active)" true
	lacks "$out" foreign
	expect 0 ephlvm show "$(uuid 1)"
	expect 3 ephlvm show $VG/foreign
	expect 0 ephlvm list --json --instance "$(uuid 2)"
	holds "$out" '"volumes"'
	lacks "$out" '"instance"'
}

test_more_guest_content_survives_create_and_activate() {
	dev=/dev/$VG/$(uuid 1)_disk.eph0
	sgdisk -n 1:2048:100000 "$dev" >/dev/null
	dd if=/dev/urandom of="$dev" bs=1M seek=20 count=4 conv=notrunc,fsync status=none
	sum=$(sha256sum <"$dev")
	expect 0 ephlvm create "$(uuid 1)" --flavor t.small
	same "$(sha256sum <"$dev")" "$sum"
	lvchange -an $VG/"$(uuid 1)_disk.eph0"
	expect 0 ephlvm activate "$(uuid 1)"
	same "$(sha256sum <"$dev")" "$sum"
	lvchange -an $VG/"$(uuid 1)_disk.eph0"
	expect 0 ephlvm create "$(uuid 1)" --flavor t.small
	same "$(sha256sum <"$dev")" "$sum"
}

test_more_file_systems() {
	local n=20 fs
	for fs in ext4 vfat xfs ntfs; do
		n=$((n + 1))
		expect 0 ephlvm create "$(uuid $n)" --flavor t.small --size 320M --fs $fs
		same "$(blkid -p -o value -s LABEL "$out")" ephemeral0
		same "$(blkid -p -o value -s TYPE "$out")" $fs
	done
	expect 0 ephlvm create "$(uuid 25)" --flavor t.small --fs none
	is_zero "$out"
	expect 0 ephlvm create "$(uuid 26)" --flavor t.small --fs swap
	same "$(blkid -p -o value -s TYPE "$out")" swap
	same "$(blkid -p -o value -s LABEL "$out")" ephemeral0
	expect 2 ephlvm create "$(uuid 27)" --flavor t.small --size 299M --fs xfs
	expect 2 ephlvm create "$(uuid 27)" --flavor t.small --fs 'ext4;rm'
	same "$(ephlvm list --noheadings --instance "$(uuid 27)" | wc -l)" 0
	for n in 21 22 23 24 25 26; do ephlvm delete --yes "$(uuid $n)"; done
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings | wc -l)" 1
}

test_more_sizes_are_rounded_up_and_said() {
	expect 0 ephlvm create "$(uuid 3)" --flavor t.tiny --size $(((64 << 20) + 1))
	holds "$err" "rounded up"
	same "$(blockdev --getsize64 "$out")" $((68 << 20))
	expect 0 ephlvm create "$(uuid 3)" --flavor t.tiny --size $(((64 << 20) + 1))
	expect 0 ephlvm delete --yes "$(uuid 3)"
}

# actions of a real run with --json, and the dry run before it, are the same list.
test_more_dry_run_equals_the_real_run() {
	local verb plan
	actions() { printf '%s' "$out" | tr -d ' \n' | sed 's/.*"actions":\(\[[^]]*\]\).*/\1/'; }
	for verb in "create $(uuid 33) --flavor t.tiny" "delete --yes --wait $(uuid 33)" \
		"create $(uuid 34) --flavor t.tiny" "delete --yes $(uuid 34)" "purge"; do
		# shellcheck disable=SC2086 # words
		expect 0 ephlvm $verb --dry-run --json
		plan=$(actions)
		# shellcheck disable=SC2086 # words
		expect 0 ephlvm $verb --json
		same "$(actions)" "$plan"
		holds "$plan" '"action"'
	done
}

test_bad_input_leaves_nothing() {
	seqno=$(vgs --noheadings -o seqno $VG)
	for id in 1234 "../../../../../../../../../../../../etc/" "$(uuid 4)x" $'11111111-2222-3333-4444-5555\n5555555'; do
		expect 2 ephlvm create "$id" --flavor t.tiny
		same "$(printf '%s\n' "$err" | grep -c '^ephlvm:')" 1
	done
	expect 3 ephlvm create "$(uuid 4)" --flavor nonesuch
	for size in 0 -1 1 9223372036854775808 1GB 1.5G abc; do
		expect 2 ephlvm create "$(uuid 4)" --flavor t.tiny --size=$size
	done
	expect 5 ephlvm create "$(uuid 4)" --flavor t.tiny --size 9223372036854775807
	expect 3 ephlvm create "$(uuid 4)" --flavor t.tiny --pool nonesuch
	expect 2 ephlvm create "$(uuid 4)" --flavor t.tiny --disk root
	expect 2 ephlvm create "$(uuid 4)" --flavor t.tiny --boot image
	same "$(vgs --noheadings -o seqno $VG)" "$seqno"
}

test_no_space_names_both_sizes() {
	seqno=$(vgs --noheadings -o seqno $VG)
	expect 5 ephlvm create "$(uuid 4)" --flavor t.tiny --size 100G
	holds "$err" "100 GiB"
	holds "$err" "$(vgs --noheadings --nosuffix --units b -o vg_free $VG | xargs) bytes"
	same "$(vgs --noheadings -o seqno $VG)" "$seqno"
}

test_more_exactly_the_free_space_fits() {
	free=$(vgs --noheadings --nosuffix --units b -o vg_free $VG | xargs)
	expect 5 ephlvm create "$(uuid 4)" --flavor t.tiny --fs none --size $((free + 1))
	expect 0 ephlvm create "$(uuid 4)" --flavor t.tiny --fs none --size "$free"
	expect 5 ephlvm create "$(uuid 5)" --flavor t.tiny
	holds "$err" "0 bytes"
	expect 0 ephlvm delete --yes --wait "$(uuid 4)"
	same "$(vgs --noheadings --nosuffix --units b -o vg_free $VG | xargs)" "$free"
}

test_open_volume_is_refused() {
	dev=/dev/$VG/$(uuid 1)_disk.eph0
	exec 9<"$dev"
	expect 4 ephlvm delete --yes "$(uuid 1)"
	holds "$err" "process $BASHPID"
	exec 9<&-
	lvs $VG/"$(uuid 1)_disk.eph0"
	sgdisk -Z "$dev" >/dev/null
	mkfs.ext4 -q -F "$dev" && mount "$dev" /mnt/t
	expect 4 ephlvm delete --yes "$(uuid 1)"
	holds "$err" "mounted on /mnt/t"
	umount /mnt/t
	dmsetup create on-top --table "0 2048 linear $dev 0"
	expect 4 ephlvm delete --yes "$(uuid 1)"
	holds "$err" "on-top"
	dmsetup remove on-top
	holds "$(lv_tags $VG/"$(uuid 1)_disk.eph0")" "ephlvm.state=ready"
	same "$(trash_of "$(uuid 1)" | wc -l)" 0
}

test_more_one_open_among_several_stops_all() {
	# A second disk of the instance, with the tags that a later version would give it.
	lvcreate -qq -y -an -Zn -Wn -L 64M -n "$(uuid 1)_disk.eph1" --addtag ephlvm --addtag ephlvm.v=1 \
		--addtag "ephlvm.instance=$(uuid 1)" --addtag ephlvm.disk=eph1 --addtag ephlvm.flavor=t.tiny \
		--addtag ephlvm.state=ready --addtag ephlvm.size=67108864 --addtag ephlvm.fs=none \
		--addtag ephlvm.at=1 $VG
	lvchange -ay $VG/"$(uuid 1)_disk.eph1"
	exec 9<"/dev/$VG/$(uuid 1)_disk.eph1"
	expect 4 ephlvm delete --yes "$(uuid 1)"
	exec 9<&-
	lvs $VG/"$(uuid 1)_disk.eph0" $VG/"$(uuid 1)_disk.eph1"
	[ -b "/dev/$VG/$(uuid 1)_disk.eph0" ]
	expect 0 ephlvm delete --yes "$(uuid 1)" --disk eph1
	same "$(trash_of "$(uuid 1)" | wc -l)" 1
	lvs $VG/"$(uuid 1)_disk.eph0"
	expect 0 ephlvm purge "$(uuid 1)"
}

test_delete_frees_the_name_and_purge_the_space() {
	expect 2 ephlvm delete "$(uuid 1)"
	free=$(vgs --noheadings --nosuffix --units b -o vg_free $VG | xargs)
	expect 0 ephlvm delete --yes --dry-run "$(uuid 1)"
	holds "$out" trash
	lvs $VG/"$(uuid 1)_disk.eph0"
	expect 0 ephlvm delete --yes "$(uuid 1)"
	same "$(lvs $VG/"$(uuid 1)_disk.eph0" 2>/dev/null | wc -l)" 0
	t=$(trash_of "$(uuid 1)")
	[[ $t =~ ^trash-[0-9a-f]{8}-[A-Za-z0-9]{24}$ ]]
	[ ! -e "/dev/$VG/$t" ]
	expect 0 ephlvm delete --yes "$(uuid 1)"
	expect 0 ephlvm create "$(uuid 1)" --flavor t.small
	expect 0 ephlvm delete --yes "$(uuid 1)"
	same "$(trash_of "$(uuid 1)" | wc -l)" 2
	expect 0 ephlvm purge --dry-run --json
	holds "$out" '"erase"'
	same "$(trash_of "$(uuid 1)" | wc -l)" 2
	expect 0 ephlvm purge "$(uuid 1)"
	same "$(trash_of "$(uuid 1)" | wc -l)" 0
	expect 0 ephlvm purge "$(uuid 1)"
	expect 3 ephlvm purge $VG/nonesuch
	expect 3 ephlvm purge $VG/foreign
	[ "$(vgs --noheadings --nosuffix --units b -o vg_free $VG | xargs)" -gt "$free" ]
}

test_purge_takes_trash_only() {
	expect 0 ephlvm create "$(uuid 1)" --flavor t.small
	expect 0 ephlvm purge "$(uuid 1)"
	expect 2 ephlvm purge "$VG/$(uuid 1)_disk.eph0"
	expect 0 ephlvm purge
	lvs $VG/"$(uuid 1)_disk.eph0" $VG/foreign
}

test_inactive_volume_is_erased_too() {
	t=$(token)
	plant "/dev/$VG/$(uuid 1)_disk.eph0" "$t"
	lvchange -an $VG/"$(uuid 1)_disk.eph0"
	[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	expect 0 ephlvm delete --yes "$(uuid 1)"
	[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	expect 0 ephlvm purge
	same "$(found /dev/nvme0n1 "$t")" 0
}

test_former_bytes_of_a_plain_lv_are_not_shown() {
	t=$(token)
	lvcreate -qq -y -L 256M -n plain $VG
	plant /dev/$VG/plain "$t"
	was=$(ranges $VG/plain)
	lvremove -qq -y $VG/plain
	# The control: plain lvremove leaves them on the drive.
	[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	expect 0 ephlvm create "$(uuid 6)" --flavor t.small --fs none
	now=$(ranges $VG/"$(uuid 6)_disk.eph0")
	echo "SHOW extents of the plain LV $was, of the volume $now"
	same "$was" "$now"
	is_zero "$out"
	same "$(found /dev/nvme0n1 "$t")" 0
	expect 0 ephlvm delete --yes --wait "$(uuid 6)"
}

test_more_signatures_in_the_extents() {
	local kind
	for kind in gpt ext4 luks lvm xfs; do
		lvcreate -qq -y -Wn -Zn -L 256M -n plain $VG
		case $kind in
		gpt) sgdisk -o -n 1:2048:4096 /dev/$VG/plain >/dev/null ;;
		ext4) mkfs.ext4 -q -F -L former /dev/$VG/plain ;;
		xfs) mkfs.xfs -q -f -L former -d size=300m /dev/$VG/plain 2>/dev/null || mkfs.ext4 -q -F /dev/$VG/plain ;;
		luks) head -c 32 /dev/urandom >/run/k && cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/$VG/plain /run/k ;;
		lvm) pvcreate -qq -y --config 'devices{scan_lvs=1}' /dev/$VG/plain ;;
		esac
		udevadm settle
		lvremove -qq -y $VG/plain
		expect 0 ephlvm create "$(uuid 7)" --flavor t.small
		same "$(blkid -p -o value -s TYPE "$out")" ext4
		same "$(blkid -p -o value -s LABEL "$out")" ephemeral0
		expect 0 ephlvm delete --yes --wait "$(uuid 7)"
	done
}

test_more_two_creates_of_one_name_make_one_volume() {
	ephlvm create "$(uuid 8)" --flavor t.small >/run/a 2>&1 &
	ephlvm create "$(uuid 8)" --flavor t.small >/run/b 2>&1 &
	wait
	same "$(cat /run/a)" "/dev/$VG/$(uuid 8)_disk.eph0"
	same "$(cat /run/b)" "/dev/$VG/$(uuid 8)_disk.eph0"
	same "$(ephlvm list --noheadings --instance "$(uuid 8)" | wc -l)" 1
	expect 0 ephlvm delete --yes --wait "$(uuid 8)"
}

# Every step is killed in the unit tier, on a model of LVM; here a sample on the real one.
test_more_killed_create_converges() {
	local step n=40
	for step in $(sample 3 lvcreate lvcreate-flush erase-open erase-write erase-flush erase-readback format ready ready-flush); do
		n=$((n + 1))
		got=0
		EPHLVM_STOP_AT=$step ephlvm create "$(uuid $n)" --flavor t.tiny >/dev/null 2>&1 || got=$?
		same "$step $got" "$step 137"
		expect 0 ephlvm create "$(uuid $n)" --flavor t.tiny
		same "$(blkid -p -o value -s LABEL "$out")" ephemeral0
		same "$(ephlvm list --noheadings -o state --instance "$(uuid $n)" | xargs)" ready
		expect 0 ephlvm delete --yes "$(uuid $n)"
	done
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings | wc -l)" 0
}

test_more_killed_create_is_settled_by_others_only_when_dead() {
	# While its lock is held it is a create in progress: activate and purge leave it alone.
	EPHLVM_STOP_AT=format ephlvm create "$(uuid 50)" --flavor t.tiny >/dev/null 2>&1 || true
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 50)" | xargs)" new
	(
		exec 9<"/run/ephlvm/instance-$(uuid 50)" # as its creator, alive, would
		flock 9
		ephlvm activate --all
		ephlvm purge
	)
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 50)" | xargs)" new
	expect 0 ephlvm activate --all
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 50)" | xargs)" trash
	expect 0 ephlvm purge
}

test_more_killed_delete_and_purge_converge() {
	local step n=60 tokens=()
	for step in $(sample 2 deactivate rename flush); do
		n=$((n + 1))
		expect 0 ephlvm create "$(uuid $n)" --flavor t.tiny
		t=$(token)
		tokens+=("$t")
		plant "$out" "$t"
		got=0
		EPHLVM_STOP_AT=$step ephlvm delete --yes "$(uuid $n)" >/dev/null 2>&1 || got=$?
		same "$step $got" "$step 137"
		expect 0 ephlvm delete --yes "$(uuid $n)"
		same "$(ephlvm list --noheadings -o state --instance "$(uuid $n)" | xargs)" trash
		expect 0 ephlvm purge
	done
	for step in $(sample 3 purge-mark purge-mark-flush purge-activate purge-open erase-write erase-flush erase-readback receipt purge-flush remove remove-flush); do
		n=$((n + 1))
		expect 0 ephlvm create "$(uuid $n)" --flavor t.tiny
		t=$(token)
		tokens+=("$t")
		plant "$out" "$t"
		expect 0 ephlvm delete --yes "$(uuid $n)"
		got=0
		EPHLVM_STOP_AT=$step ephlvm purge >/dev/null 2>&1 || got=$?
		same "$step $got" "$step 137"
		expect 0 ephlvm purge
		same "$(ephlvm list --noheadings | wc -l)" 0
	done
	same "$(found /dev/nvme0n1 "${tokens[@]}")" 0
}

test_more_failed_steps_leave_nothing() {
	local step
	for step in $(sample 3 lvcreate erase-open erase-write erase-flush erase-readback format ready ready-flush); do
		expect 7 env EPHLVM_FAIL_AT="$step" ephlvm create "$(uuid 80)" --flavor t.tiny
		holds "$err" "$step"
		same "$step $(ephlvm list --noheadings --state new --state ready | wc -l)" "$step 0"
	done
	ephlvm purge
}

test_more_damaged_tags_are_not_touched() {
	expect 0 ephlvm create "$(uuid 9)" --flavor t.tiny
	lvchange -qq --addtag ephlvm.state=trash $VG/"$(uuid 9)_disk.eph0"
	expect 0 ephlvm list --noheadings -o state --instance "$(uuid 9)"
	same "$(xargs <<<"$out")" damaged
	expect 7 ephlvm delete --yes "$(uuid 9)"
	expect 0 ephlvm purge
	lvs $VG/"$(uuid 9)_disk.eph0"
	lvchange -qq --deltag ephlvm.state=trash --addtag ephlvm.v=2 --deltag ephlvm.v=1 $VG/"$(uuid 9)_disk.eph0"
	expect 7 ephlvm delete --yes "$(uuid 9)"
	lvchange -qq --deltag ephlvm.v=2 --addtag ephlvm.v=1 $VG/"$(uuid 9)_disk.eph0"
	expect 0 ephlvm delete --yes --wait "$(uuid 9)"
}

# --- somebody has it ---

test_more_mounted_in_another_namespace() {
	expect 0 ephlvm create "$(uuid 95)" --flavor t.tiny
	unshare -m sh -c "mount '$out' /mnt && touch /run/mounted && exec sleep 1000" &
	until_true 60 [ -e /run/mounted ]
	expect 4 ephlvm delete --yes "$(uuid 95)"
	holds "$err" "mounted on /mnt in the mount namespace of process"
	kill $!
	wait $! 2>/dev/null || true
	expect 0 ephlvm delete --yes --wait "$(uuid 95)"
}

test_more_a_short_look_is_waited_for() {
	expect 0 ephlvm create "$(uuid 96)" --flavor t.tiny
	(exec 9<"$out" && exec sleep 1) &
	expect 0 ephlvm delete --yes --wait "$(uuid 96)"
}

# A suspended device answers nobody: no command hangs on it. Left behind by a killed command, it is LVM's to resume.
test_more_suspended() {
	expect 0 ephlvm create "$(uuid 97)" --flavor t.tiny --fs none
	t=$(token)
	plant "$out" "$t"
	expect 0 ephlvm delete --yes "$(uuid 97)"
	lvchange -ay "$VG/$(trash_of "$(uuid 97)")"
	dmsetup suspend "$(dmsetup info -c --noheadings -o name "/dev/$VG/$(trash_of "$(uuid 97)")")"
	expect 0 timeout 120 ephlvm list --json
	[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	expect 0 timeout 300 ephlvm purge
	same "$(found /dev/nvme0n1 "$t")" 0
	expect 0 ephlvm create "$(uuid 97)" --flavor t.tiny
	dmsetup suspend "$(dmsetup info -c --noheadings -o name "$out")"
	expect 0 timeout 300 ephlvm delete --yes --wait "$(uuid 97)"
}

# --- something else is where it should be ---

test_more_a_file_in_place_of_the_node() {
	local node number kind
	expect 0 ephlvm create "$(uuid 98)" --flavor t.tiny --fs none
	t=$(token)
	plant "$out" "$t"
	expect 0 ephlvm delete --yes "$(uuid 98)"
	lvchange -ay "$VG/$(trash_of "$(uuid 98)")"
	node=$(readlink -f "/dev/$VG/$(trash_of "$(uuid 98)")")
	number=$(lsblk -dno MAJ:MIN "$node" | xargs)
	for kind in file link device; do
		rm "$node"
		case $kind in
		file) truncate -s 64M "$node" ;;
		link) ln -s /dev/nvme0n1 "$node" ;;
		device) mknod "$node" b 7 200 ;;
		esac
		expect 7 ephlvm purge
		[ $kind = device ] || holds "$err" "$node"
		[ $kind != file ] || same "$(stat -c '%s %b' "$node")" "$((64 << 20)) 0"
		[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	done
	rm "$node"
	mknod "$node" b "${number%:*}" "${number#*:}"
	expect 0 ephlvm purge
	same "$(found /dev/nvme0n1 "$t")" 0
}

# Then LVM makes nodes and links itself, and nothing is waited for in vain.
test_more_no_udev_at_all() {
	pkill systemd-udevd
	until_true 30 eval '! pgrep systemd-udevd'
	mv /run/udev /run/udev.off
	got=0
	(
		set -e
		expect 0 ephlvm create "$(uuid 99)" --flavor t.tiny
		[ -b "$out" ]
		expect 0 ephlvm delete --yes --wait "$(uuid 99)"
	) || got=1
	mv /run/udev.off /run/udev
	/lib/systemd/systemd-udevd --daemon
	same $got 0
}

# --- and after all ---

test_foreign_lv_was_untouched_by_all_that() {
	same "$(sha256sum </dev/$VG/foreign)" "$(cat /run/foreign.sum)"
	same "$(lv_tags $VG/foreign)" ""
}

test_scrub_erases_free_space() {
	t=$(token)
	lvcreate -qq -y -L 128M -n plain $VG
	plant /dev/$VG/plain "$t"
	lvremove -qq -y $VG/plain
	[ "$(found /dev/nvme0n1 "$t")" -gt 0 ]
	expect 0 ephlvm pool scrub
	same "$(found /dev/nvme0n1 "$t")" 0
	same "$(ephlvm list --noheadings | wc -l)" 0
	same "$(sha256sum </dev/$VG/foreign)" "$(cat /run/foreign.sum)"
}

test_takeover_touches_no_lv() {
	lvremove -qq -y $VG
	vgchange -qq --deltag ephlvm.pool=ephlvm --deltag ephlvm $VG
	lvcreate -qq -y -L 64M -n theirs $VG
	expect 3 ephlvm create "$(uuid 10)" --flavor t.tiny
	expect 0 ephlvm pool init --yes --vg $VG --pool fast
	same "$(lv_tags $VG/theirs)" ""
	lvs $VG/theirs
	expect 0 ephlvm create "$(uuid 10)" --flavor t.tiny --pool fast
	expect 0 ephlvm delete --yes --wait "$(uuid 10)"
	expect 3 ephlvm pool init --yes --vg nonesuch
	holds "$(vgs --noheadings -o vg_autoactivation --binary $VG | xargs)" 0
}

# One on tmpfs, which has no direct I/O, and one on overlayfs over it, which grants it and fails every read.
test_pool_on_loop_files() {
	local file
	for file in /tmp/loop.img /var/tmp/loop.img; do
		expect 0 ephlvm pool init --yes --pool loop --vg loop --loop $file --size 256M
		expect 2 ephlvm pool init --yes --pool other --vg other --loop $file --size 256M
		expect 0 ephlvm create "$(uuid 11)" --flavor t.tiny --pool loop
		same "$(blkid -p -o value -s LABEL "/dev/loop/$(uuid 11)_disk.eph0")" ephemeral0
		expect 0 ephlvm delete --yes --wait "$(uuid 11)"
		vgremove -qq -y loop
		losetup -D
		rm $file
	done
}

run_tests
