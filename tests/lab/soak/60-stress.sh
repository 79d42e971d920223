#!/usr/bin/env bash
# Sixteen processes create, delete and purge on one pool, while list runs in a loop.
# lab: --disk-size 3G --timeout 20000
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
small_flavors
# Sixteen share two emulated processors: deadlines that are meant for a host are long over before a queue of them is.
sed -i '1s/{/{"timeouts": {"lock": 1800, "command": 1800, "read": 1800},/' /etc/ephlvm/ephlvm.json
TEST_LIMIT=18000
WORKERS=16
ROUNDS=${EPHLVM_ROUNDS:-50}

# said FILE COMMAND...: run it; a failure is written to FILE. A lock that another holds (4) is no failure of
# purge, which others run too.
said() {
	local file=$1 status=0
	shift
	"$@" >/dev/null 2>"$file.err" || status=$?
	if [ $status = 0 ] || { [ "$2" = purge ] && { [ $status = 4 ] || [ $status = 8 ]; }; }; then return 0; fi
	{ echo "exit $status: $*"; cat "$file.err"; } >>"$file"
}

worker() { # N
	local round id
	for ((round = 0; round < ROUNDS; round++)); do
		id=$(uuid $(($1 * 1000 + round)))
		said "/run/stress/failed.$1" ephlvm create "$id" --flavor t.tiny --fs none
		printf '%s' "$id" | dd of="/dev/ephlvm/${id}_disk.eph0" bs=4096 conv=sync,notrunc,fsync status=none 2>>"/run/stress/failed.$1"
		same "$(head -c 36 "/dev/ephlvm/${id}_disk.eph0")" "$id" >>"/run/stress/failed.$1"
		said "/run/stress/failed.$1" ephlvm delete --yes "$id"
		[ $(((round + $1) % 2)) = 0 ] || said "/run/stress/failed.$1" ephlvm purge
	done
}

lister() {
	while [ ! -e /run/stress/over ]; do
		ephlvm list --json >/run/stress/list 2>/run/stress/list.err || {
			echo "list failed: $(cat /run/stress/list.err)" >>/run/stress/failed.list
		}
		tr -d ' \n' </run/stress/list | grep -oE '"lv_uuid":"[^"]*"' | sort | uniq -d >>/run/stress/twice
		echo x >>/run/stress/lists
	done
}

test_sixteen_at_once() {
	local n
	expect 0 ephlvm pool init --yes /dev/nvme0n1
	free=$(vgs --noheadings --nosuffix --units b -o vg_free ephlvm | xargs)
	mkdir -p /run/stress
	lister &
	pids=()
	for ((n = 1; n <= WORKERS; n++)); do
		worker $n &
		pids+=($!)
	done
	wait "${pids[@]}" || true # what failed is in the files
	touch /run/stress/over
	wait
	cat /run/stress/failed.*[0-9t] 2>/dev/null | head -n 40 >/run/stress/all || true
	cat /run/stress/all
	[ ! -s /run/stress/all ]
	[ ! -s /run/stress/twice ]
	expect 0 ephlvm purge
	same "$(ephlvm list --noheadings | wc -l)" 0
	same "$(vgs --noheadings --nosuffix --units b -o vg_free ephlvm | xargs)" "$free"
	same "$(ephlvm receipts --noheadings | wc -l)" $((WORKERS * ROUNDS))
	expect 0 ephlvm receipts
	same "$(dmsetup ls 2>/dev/null | grep -c ephlvm-)" 0
	same "$(find /run/ephlvm -type f ! -name lvm | wc -l)" 0
	same "$(find /var/lib/ephlvm/erase -type f | wc -l)" 0
	echo "SHOW $WORKERS processes, $ROUNDS rounds each, $(wc -l </run/stress/lists) lists meanwhile: $((WORKERS * ROUNDS)) volumes made, deleted, erased; nothing left"
}

run_tests
