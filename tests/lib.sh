# shellcheck shell=bash
# lib.sh - what ./quickstart, ./check and the tiers' scripts share. Sourced from the project's root.

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		command -v sudo >/dev/null || fail "this needs root, and there is no sudo"
		sudo "$@"
	fi
}

# need_packages PURPOSE...: install what packaging/packages lists for them and is not there.
need_packages() {
	local purpose missing=() p
	for purpose in "$@"; do
		# shellcheck disable=SC2013 # words are wanted
		for p in $(sed -n "s/^$purpose //p" packaging/packages); do
			dpkg-query -W -f='${db:Status-Status}\n' "$p" 2>/dev/null |
				grep -qx installed || missing+=("$p")
		done
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	say "installing ${missing[*]}"
	as_root apt-get update -qq || true
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends "${missing[@]}" >/tmp/ephlvm-apt.$$ 2>&1 || {
		tail -n 20 /tmp/ephlvm-apt.$$ >&2
		rm -f /tmp/ephlvm-apt.$$
		fail "apt-get could not install them"
	}
	rm -f /tmp/ephlvm-apt.$$
}

# build_preset NAME [TARGET...]: configure and build build/NAME, quietly unless it fails.
build_preset() {
	local log=build/$1.log targets=()
	[ $# -eq 1 ] || targets=(--target "${@:2}")
	mkdir -p build
	{ cmake --preset "$1" && cmake --build "build/$1" -j"$(nproc)" "${targets[@]}"; } >"$log" 2>&1 || {
		grep -E 'error|Error|warning' -A3 "$log" | tail -n 60 >&2
		fail "the build of preset $1 failed; see $log"
	}
}

# tally FILE COUNT: add the last "N passed, N failed, N skipped" of a tier's output to the totals: one line for each of
# the COUNT scripts that it runs. One that is missing is a failure.
passed=0 failed=0 skipped=0
tally() {
	local lines line
	mapfile -t lines < <(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1" | tail -n "$2")
	if [ ${#lines[@]} != "$2" ]; then
		failed=$((failed + 1))
	fi
	for line in "${lines[@]}"; do
		# shellcheck disable=SC2086 # the line's words are wanted
		set -- $line
		passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + $5))
	done
}
