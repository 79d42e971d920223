# shellcheck shell=bash
# tap.sh - what the lab's cases share. Sourced by each of tests/lab/cases/*.sh, in the lab.
#
# A case file defines functions test_*; run_tests runs them in the order of the file, each in a
# shell of its own with set -e, and prints "ok NAME" or "not ok NAME" with what it printed; last
# "end of case", without which tests/lab/suite counts a failure.
#
# Functions test_more_* stand alone, between the others: all of them are soak's (EPHLVM_LAB_ALL=1), and each run of
# the lab takes MORE of them (2), by EPHLVM_SEED.

set -u
out='' err=''

# expect CODE COMMAND...: run it; its output is in $out and $err; another exit status is a failure.
expect() {
	local want=$1 got=0 f
	shift
	f=$(mktemp -d)
	"$@" >"$f/out" 2>"$f/err" </dev/null || got=$?
	out=$(<"$f/out") err=$(<"$f/err")
	rm -rf "$f"
	if [ "$got" != "$want" ]; then
		printf 'exit %s instead of %s: %s\nstdout: %s\nstderr: %s\n' "$got" "$want" "$*" "$out" "$err"
		return 1
	fi
	echo "exit $got: $*"
}

# holds TEXT PATTERN: the text has the pattern (fixed string) in it.
holds() {
	case $1 in *"$2"*) return 0 ;; esac
	printf 'no "%s" in: %s\n' "$2" "$1"
	return 1
}
lacks() {
	case $1 in *"$2"*) ;; *) return 0 ;; esac
	printf '"%s" in: %s\n' "$2" "$1"
	return 1
}
same() {
	[ "$1" = "$2" ] && return 0
	printf '"%s" is not "%s"\n' "$1" "$2"
	return 1
}

# until_true SECONDS COMMAND...: wait for a condition, never for a time.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $end ]; then
			echo "not within the deadline: $*"
			return 1
		fi
		sleep 0.2
	done
}

# uuid N: an instance UUID by number.
uuid() { printf '%08x-0000-4000-8000-%012x' "$1" "$1"; }
# token: random text that nothing else holds.
token() { printf 'tok-%s' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"; }

# plant DEVICE TOKEN: a block full of it at start, middle and end, past the cache.
plant() {
	local size block
	size=$(blockdev --getsize64 "$1")
	block=$(mktemp)
	head -c 65536 < <(yes "$2") >"$block" # not a pipe: yes ends by SIGPIPE, and pipefail would see it
	for at in 0 $((size / 65536 / 2)) $((size / 65536 - 1)); do
		dd if="$block" of="$1" bs=65536 seek="$at" conv=notrunc,fsync oflag=direct status=none
	done
	rm -f "$block"
}
# found DEVICE TOKEN...: how often they are on the device, all together (up to 16 in one reading).
found() {
	local result
	result=$("$EPHLVM_BUILD/tests/lab/tools/ephlvm-scan" "$@") || return 1
	printf '%s\n' "$result" | awk '$1 != "scanned" { n += $2 } END { print n + 0 }'
}

# sample N WORD...: N of the words, chosen by EPHLVM_SEED; all of them with EPHLVM_LAB_ALL=1.
sample() {
	local n=$1
	shift
	if [ "${EPHLVM_LAB_ALL:-}" = 1 ]; then
		printf '%s\n' "$@"
		return
	fi
	printf '%s\n' "$@" | shuf -n "$n" --random-source=<(seed_bytes "$EPHLVM_SEED")
}
# The same bytes for the same seed, without end.
seed_bytes() { awk -v seed="$1" 'BEGIN { srand(seed); for (i = 0; i < 65536; i++) printf "%c", 1 + int(rand() * 127) }'; }
# is_zero DEVICE: every byte of it.
is_zero() { cmp -s -n "$(blockdev --getsize64 "$1")" "$1" /dev/zero; }
# ranges VG/LV: its physical extents as ephlvm shows them.
ranges() { lvs --noheadings -o seg_pe_ranges "$1" | xargs; }
lv_tags() { lvs --noheadings -o lv_tags "$1" 2>/dev/null | xargs; }
lv_count() { lvs --noheadings -a "$1" 2>/dev/null | wc -l; }
trash_of() { ephlvm list --state trash --noheadings -o lv --instance "$1"; }

# small_flavors: flavors of a few MiB, so that many fit on a small drive.
small_flavors() {
	mkdir -p /etc/ephlvm
	cat >/etc/ephlvm/ephlvm.json <<-JSON
	{"flavors": {
	  "t.tiny":  {"vcpus": 1, "ram": "1G", "root": "1G", "ephemeral": "64M"},
	  "t.small": {"vcpus": 1, "ram": "1G", "root": "1G", "ephemeral": "256M"},
	  "t.large": {"vcpus": 1, "ram": "1G", "root": "1G", "ephemeral": "1G"}
	}}
	JSON
	chmod 644 /etc/ephlvm/ephlvm.json
}

# what_runs: for the one who asks why a test does not end.
what_runs() {
	local dir
	ps --ppid 2 -p 2 --deselect --forest -o pid,stat,wchan:28,etime,args | cut -c 1-200
	for dir in /proc/[0-9]*; do
		grep -q '^State:.[DS]' "$dir/status" 2>/dev/null || continue
		case $(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null) in *ephlvm\ * | *lvm\ * | *virsh* | *libvirtd* | *qemu*) ;; *) continue ;; esac
		echo "$dir $(tr '\0' ' ' <"$dir/cmdline" | cut -c 1-100)"
		cat "$dir/task/"*/stack 2>/dev/null | head -n 30
	done
}

# run_test NAME LOG: one test within TEST_LIMIT seconds; 124 when it did not end, with what ran then in the log.
run_test() {
	local pid end fd status=0
	# Not as an if's condition: there set -e would be ignored, and no check could fail.
	(set -e; "$1") >"$2" 2>&1 </dev/null &
	pid=$!
	end=$((SECONDS + ${TEST_LIMIT:-900}))
	exec {fd}<> <(:) # waits without a process a time
	while kill -0 "$pid" 2>/dev/null; do
		if [ "$SECONDS" -ge "$end" ]; then
			what_runs >>"$2" 2>&1
			kill -KILL "$pid"
			wait "$pid" 2>/dev/null
			echo "did not end within ${TEST_LIMIT:-900} s" >>"$2"
			return 124
		fi
		read -rt 1 -u "$fd"
	done
	exec {fd}<&-
	wait "$pid" || status=$?
	return "$status"
}

run_tests() {
	local name names more chosen log start status
	log=$(mktemp)
	mapfile -t names < <(grep -oE '^test_[a-z0-9_]+' "$0")
	mapfile -t more < <(printf '%s\n' "${names[@]}" | grep '^test_more_')
	chosen=''
	[ ${#more[@]} = 0 ] || chosen=$(sample "${MORE:-2}" "${more[@]}")
	for name in "${names[@]}"; do
		case $name in test_more_*) grep -qx "$name" <<<"$chosen" || [ -n "${EPHLVM_LAB_TESTS:-}" ] || continue ;; esac
		# For work on one test; what it builds on must be named too.
		[[ $name =~ ${EPHLVM_LAB_TESTS:-.} ]] || continue
		start=$SECONDS
		run_test "$name" "$log"
		status=$?
		if [ "$status" = 0 ]; then
			echo "ok $name ($((SECONDS - start)) s)"
			grep '^SHOW ' "$log" | sed 's/^SHOW /   /' || true
		else
			echo "not ok $name ($((SECONDS - start)) s)"
			if [ "$status" = 124 ]; then
				# What hangs would hang the others too.
				sed 's/^/    /' "$log"
				return 1
			fi
			sed 's/^/    /' "$log" | tail -n 40
		fi
	done
	rm -f "$log"
	echo "end of case"
}
