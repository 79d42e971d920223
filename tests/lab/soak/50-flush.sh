#!/usr/bin/env bash
# The power goes, and with it what the drive had in its cache: at every flush point of pool init, create, a guest's
# writes, delete, purge and scrub the drive is built anew from what was flushed by then, and the next commands find
# their way.
# lab: --disks 3 --disk-size 1G --timeout 20000
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
small_flavors
TEST_LIMIT=18000

# nvme0n1 is the pool's, nvme1n1 takes the log of it, nvme2n1 is what a replay makes. The PV is a linear device from
# an offset on the logged one: neither the drives below nor the logged device show its label.
REPLAY=$EPHLVM_BUILD/tests/lab/tools/ephlvm-replay
LOG=/dev/nvme1n1
BASE=/dev/nvme2n1
PV=/dev/mapper/drive
PV_SECTORS=$((352 << 11)) # 64 MiB of metadata area, and four volumes of 64 MiB
OFFSET=2048
VG=ephlvm
RUN=/run/flush
STATE=/var/lib/ephlvm
mkdir -p $RUN/state

# The log, the copies and what a snapshot keeps are full of labels that are not to be seen.
mkdir -p /etc/lvm
cat >/etc/lvm/lvmlocal.conf <<-'END'
	devices { global_filter = [ "a|^/dev/mapper/drive$|", "r|.*|" ] }
END

drive_over() { # DEVICE
	echo "0 $PV_SECTORS linear $1 $OFFSET" | dmsetup create drive
	udevadm settle
}
# gone NAME: the device is removed; for a moment udev may have it open.
gone() {
	udevadm settle
	until_true 10 dmsetup remove "$1"
}
mark() { dmsetup message logged 0 mark "$1"; }
# during NAME COMMAND...: between two marks; then, and not by the command, the drive is flushed. The host's own files
# are kept as they are then.
during() {
	local name=$1
	shift
	mark "$name.begin"
	[ -z "$killed_at" ] || EPHLVM_STOP_AT=$killed_at expect 137 "$@"
	expect 0 "$@"
	mark "$name.end"
	rm -rf "$RUN/state/$name"
	mkdir -p $STATE
	cp -a $STATE "$RUN/state/$name"
	sync $PV
	echo "$name" >>$RUN/names
}
killed_at=
# again MARK NAME COMMAND...: it is killed at that mark, behind LVM's commit and before the flush, and then run again:
# what that one reports must last, though it found the work done.
again() {
	killed_at=$1
	shift
	during "$@"
	killed_at=
}

# What is told from the log: the number of flushes of a command itself (before it returned), and of the writes that it
# left in the cache.
flushes_of() {
	awk -v name="$1" '$5 == name ".begin" { in_it = 1 } $5 == name ".end" { in_it = 0 }
		in_it && $4 ~ /F/ { n++ } END { print n + 0 }' $RUN/list
}
left_by() {
	awk -v name="$1" '$5 == name ".end" { behind = 1 } behind && $4 ~ /F/ { exit }
		behind && $4 !~ /[MU]/ { n++ } END { print n + 0 }' $RUN/list
}
mark_at() { awk -v mark="$1" '$5 == mark { print $1 }' $RUN/list; }

test_the_log_of_a_life() {
	modprobe dm-log-writes
	modprobe dm-snapshot
	token >$RUN/before_init
	token >$RUN/former
	token >$RUN/own
	echo "0 $(blockdev --getsz /dev/nvme0n1) log-writes /dev/nvme0n1 $LOG" | dmsetup create logged
	drive_over /dev/mapper/logged
	during planted plant $PV "$(cat $RUN/before_init)"
	during init ephlvm pool init --yes $PV
	# LVM alone, and a tenant of before: the proof of clean space is gone by it.
	during lvcreate lvcreate -qq -y -L 64M -n plain $VG
	during former plant /dev/$VG/plain "$(cat $RUN/former)"
	during lvrename lvrename -qq $VG/plain $VG/other
	during lvremove lvremove -qq -y $VG/other
	during create ephlvm -v create "$(uuid 1)" --flavor t.tiny
	holds "$err" "step erase-write" # dirty space
	during token plant "/dev/$VG/$(uuid 1)_disk.eph0" "$(cat $RUN/own)"
	again lvrename-called delete ephlvm delete --yes "$(uuid 1)"
	again lvremove-called purge ephlvm purge
	again ready-flush second ephlvm create "$(uuid 2)" --flavor t.tiny
	during scrub ephlvm pool scrub
	during clean ephlvm -v create "$(uuid 3)" --flavor t.tiny
	lacks "$err" "step erase-write"
	vgchange -qq -an $VG
	gone drive
	gone logged
	"$REPLAY" $LOG list >$RUN/list
	# It was not too long for its drive.
	same "$(tail -n 1 $RUN/list | cut -d ' ' -f 5)" dm-log-writes-end
	same "$("$REPLAY" $LOG count-flushes)" "$(awk '$4 ~ /F/' $RUN/list | wc -l)"
	echo "SHOW entries: $(wc -l <$RUN/list), flush entries: $("$REPLAY" $LOG count-flushes), FUA: $(awk '$4 ~ /U/' $RUN/list | wc -l), discards: $(awk '$4 ~ /D/' $RUN/list | wc -l)"
}

test_lvm_does_not_flush_and_ephlvm_does() {
	local name
	for name in lvcreate lvrename lvremove; do
		echo "SHOW LVM's own $name: $(flushes_of $name) flush entries, $(left_by $name) writes left in the cache"
		[ "$(left_by $name)" -gt 0 ]
	done
	for name in init create delete purge second scrub clean; do
		echo "SHOW ephlvm $name: $(flushes_of $name) flush entries, $(left_by $name) writes left in the cache"
		[ "$(flushes_of $name)" -gt 0 ]
		same "$(left_by $name)" 0
	done
}

# --- the drive as it was at a point ---

# Points are the entries that make something durable. A power cut between one and the next finds the drive as it was
# at the first of them, so what a command promises by returning there holds at the first already.
points() { awk '$4 ~ /[FU]/ { print $1 }' $RUN/list; }
next_point() { awk -v at="$1" '$1 > at && $4 ~ /[FU]/ { print $1; exit }' $RUN/list; }
# Commands that had begun (returned) when the drive was like this.
begun_at() { awk -v to="$(next_point "$1")" 'to != "" && $1 >= to { exit } $5 ~ /[.]begin$/ { sub(/[.]begin/, "", $5); print $5 }' $RUN/list; }
returned_at() { awk -v to="$(next_point "$1")" 'to != "" && $1 >= to { exit } $5 ~ /[.]end$/ { sub(/[.]end/, "", $5); print $5 }' $RUN/list; }
# Had the command begun before the point: what it does may be there already.
maybe_at() { awk -v at="$1" '$1 > at { exit } $5 ~ /[.]begin$/ { sub(/[.]begin/, "", $5); print $5 }' $RUN/list; }
has() { grep -qx "$1" <<<"$2"; }

# A copy of what the replay made, which the commands may change. In large chunks: an erase overwrites them whole, and
# nothing has to be copied first.
copy_up() {
	rm -f $RUN/cow
	truncate -s 1G $RUN/cow
	losetup -f --show $RUN/cow >$RUN/loop
	echo "0 $(blockdev --getsz $BASE) snapshot $BASE $(cat $RUN/loop) N 2048" | dmsetup create point
	drive_over /dev/mapper/point
}
copy_down() {
	local name
	for name in $(dmsetup ls | awk '{ print $1 }' | grep -vxE 'point|drive|No'); do dmsetup remove --retry "$name"; done
	gone drive && gone point
	losetup -d "$(cat $RUN/loop)"
	rm -f $RUN/cow
}
# The host after its boot: its own drive has what it had at the end of all (end), at the end of the command that was
# under way (then), or nothing (none).
host_files() {
	local from=$RUN/state/$2
	rm -rf $STATE /run/ephlvm/* /run/lvm/hints
	case $1 in
	end) from=$RUN/state/clean ;;
	none) return 0 ;;
	esac
	cp -a "$from" $STATE
}

states() { ephlvm list --noheadings -o state --instance "$(uuid "$1")" | xargs -r; }
# tokens DEVICE: which of the three are on it, by their names.
tokens() {
	local name counts
	counts=$("$EPHLVM_BUILD/tests/lab/tools/ephlvm-scan" "$1" "$(cat $RUN/before_init)" "$(cat $RUN/former)" "$(cat $RUN/own)")
	for name in before_init former own; do
		awk -v t="$(cat $RUN/$name)" -v name=$name '$1 == t && $2 > 0 { print name }' <<<"$counts"
	done | xargs -r
}
# formatted PATH: as create leaves it.
formatted() {
	same "$(blkid -p -s LABEL -o value "$1")" ephemeral0
	e2fsck -fn "$1" >/run/fsck 2>&1 || { cat /run/fsck && false; }
}

# A volume that create had returned is there and nothing but its delete takes it away; one whose delete had returned
# is not ready.
check_volume() { # NUMBER MADE-BY DELETED-BY
	local n=$1 state
	state=$(states "$n")
	if has "$3" "$returned" || ! has "$2" "$begun"; then
		lacks "$state" ready
	elif has "$2" "$returned" && ! has "$3" "$maybe"; then
		same "$state" ready
	fi
}
check_bytes() { # NUMBER
	local n=$1 path seen
	path="/dev/$VG/$(uuid "$n")_disk.eph0"
	[ "$(states "$n")" = ready ] || return 0
	seen=$(tokens "$path")
	if [ "$n" != 1 ] || ! has token "$maybe"; then
		same "$seen" ''
		formatted "$path"
	elif has token "$returned"; then
		same "$seen" own
		same "$(found "$path" "$(cat $RUN/own)")" "$(cat $RUN/own_count)"
	else
		lacks "$seen" former
		lacks "$seen" before_init
	fi
}

check_no_pool_yet() {
	expect 0 ephlvm list --noheadings
	same "$out" ''
	expect 0 ephlvm activate --all
	expect 0 ephlvm purge
	# A drive that has the label already is only used with a word more.
	if pvs --noheadings $PV >/dev/null 2>&1 && ! vgs $VG >/dev/null 2>&1; then
		expect 4 ephlvm pool init --yes $PV
		holds "$err" --wipe
		pvremove -qq -y $PV
	fi
	expect 0 ephlvm pool init --yes $PV
	same "$(tokens $PV)" ''
}

check_pool() {
	local n ready seen
	expect 0 ephlvm pool show --json
	expect 0 ephlvm activate --all
	expect 0 ephlvm list --json
	lacks "$(tr -d ' ' <<<"$out")" '"state":"new"'
	check_volume 1 create delete
	check_volume 2 second never
	check_volume 3 clean never
	for n in 1 2 3; do check_bytes $n; done
	expect 0 ephlvm purge
	ready=$(ephlvm list --noheadings --state ready | wc -l)
	same "$(ephlvm list --noheadings | wc -l)" "$ready"
	# Nothing of ours is left, in LVM or in the kernel.
	same "$(lvs -a --noheadings -o lv_name,lv_tags $VG | grep -c ephlvm || true)" "$ready"
	same "$(dmsetup ls | grep -c "^$VG-.*disk" || true)" "$ready"
	seen=$(tokens $PV)
	lacks "$seen" before_init
	[ "$(states 1)" = ready ] || lacks "$seen" own
	# The pool works on, and a proof of other metadata does not make this space clean.
	expect 0 ephlvm create "$(uuid 9)" --flavor t.tiny
	same "$(tokens "$out")" ''
	formatted "$out"
	[ "$(states 1)" != ready ] || expect 0 ephlvm delete --yes "$(uuid 1)"
	expect 0 ephlvm delete --yes --wait "$(uuid 9)"
	expect 0 ephlvm purge
	lacks "$(tokens $PV)" own
	expect 0 ephlvm receipts
}

what_is_there() {
	local found
	vgs $VG >/dev/null 2>&1 || { echo nothing && return; }
	found=$(ephlvm list --noheadings -o state | xargs -r)
	case " $found " in
	*new*) echo half-made ;;
	*trash*) echo trash ;;
	*ready*) echo volume ;;
	*) echo pool ;;
	esac
}

check_point() { # POINT FILES
	local begun returned maybe
	begun=$(begun_at "$1") returned=$(returned_at "$1") maybe=$(maybe_at "$1")
	host_files "$2" "$(tail -n 1 <<<"$maybe")"
	copy_up
	what_is_there >$RUN/found
	echo "$(cat $RUN/found), files: $2, returned: $(xargs <<<"$returned")"
	if has init "$returned" || [ -n "$(vgs --noheadings -o vg_tags $VG 2>/dev/null | xargs)" ]; then
		check_pool
	else
		check_no_pool_yet
	fi
}

# Some by the seed, out of two of each command: any, and the last before it returned. All with EPHLVM_LAB_ALL=1.
chosen_points() {
	local name at end prev=-1 some=()
	if [ "${EPHLVM_LAB_ALL:-}" = 1 ]; then
		points
		return
	fi
	while read -r name; do
		end=$(mark_at "$name.end")
		mapfile -t at < <(points | awk -v from="$prev" -v to="$end" '$1 > from && $1 < to')
		prev=$end
		[ ${#at[@]} -gt 0 ] || continue
		some+=("${at[-1]}" "$(sample 1 "${at[@]}")")
	done <$RUN/names
	mapfile -t some < <(printf '%s\n' "${some[@]}" | sort -nu)
	sample "${POINTS:-3}" "${some[@]}" | sort -n
}

test_every_flush_point() {
	local point from=0 files failed=0 n=0 kinds=(end none "then") status start bytes
	bytes=$(($(wc -c <$RUN/own) + 1)) # of each repetition, with its end of line
	echo $((3 * (65536 / bytes))) >$RUN/own_count
	: >$RUN/kinds
	set +e
	for point in $(chosen_points); do
		start=$SECONDS
		"$REPLAY" $LOG replay $BASE --from $from --to "$point" >$RUN/replayed || { cat $RUN/replayed && return 1; }
		from=$((point + 1))
		files=${kinds[(EPHLVM_SEED + n) % 3]}
		n=$((n + 1))
		(set -e; check_point "$point" "$files") >$RUN/point 2>&1
		status=$?
		if [ $status != 0 ]; then
			failed=$((failed + 1))
			echo "--- entry $point of the log, $(cat $RUN/replayed)"
			cat $RUN/point
		fi
		cat $RUN/found >>$RUN/kinds
		echo "SHOW entry $point: $(grep files: $RUN/point) ($((SECONDS - start)) s)"
		copy_down >/dev/null 2>&1
	done
	set -e
	echo "SHOW points tried: $n of $(points | wc -l); found there: $(sort $RUN/kinds | uniq -c | awk '{ printf "%s%s %s", sep, $1, $2; sep = ", " }')"
	[ "${EPHLVM_LAB_ALL:-}" != 1 ] || same "$n" "$(points | wc -l)"
	same $failed 0
}

# The control: what LVM alone committed is lost with the cache, and these checks see it.
test_control_lvm_committed_and_nothing_flushed() {
	local before
	before=$(points | awk -v to="$(mark_at lvrename.end)" '$1 < to' | tail -n 1)
	blkdiscard -z $BASE
	"$REPLAY" $LOG replay $BASE --to "$before"
	copy_up
	same "$(lvs --noheadings -o lv_name $VG | xargs)" plain
	copy_down
	"$REPLAY" $LOG replay $BASE --to "$(next_point "$before")"
	copy_up
	same "$(lvs --noheadings -o lv_name $VG | xargs)" other
	copy_down
	echo "SHOW after LVM's own lvrename had returned, a power cut leaves the name of before; after the next flush the new one"
}

run_tests
