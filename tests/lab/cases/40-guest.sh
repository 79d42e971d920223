#!/usr/bin/env bash
# Volumes in real guests under a real libvirtd: who may delete what, live attach and detach, what a guest
# writes and what the host makes of it.
# lab: --disk-size 3G --timeout 1500
# shellcheck source=tests/lab/tap.sh
. "$(dirname "$0")/../tap.sh"
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/../lib.sh"
small_flavors
MORE=1

# define NUMBER CMDLINE: the instance's domain, with its volume as vdb, defined.
define() {
	lab_guest_xml "guest$1" "$(uuid "$1")" "eph.token=t$1 $2" >"/tmp/plain$1.xml"
	ephlvm xml add "$(uuid "$1")" <"/tmp/plain$1.xml" >"/tmp/guest$1.xml"
	virsh -q define --validate "/tmp/guest$1.xml"
}
destroy() {
	virsh -q destroy "guest$1" || true
	virsh -q undefine "guest$1"
}

test_guest_sees_its_volume_as_vdb() {
	lab_libvirtd_start
	expect 0 ephlvm pool init --yes /dev/nvme0n1
	expect 0 ephlvm create "$(uuid 1)" --flavor t.small
	define 1 "eph.do=df,secret,raw-secret,sleep"
	lab_guest_start guest1
	lab_guest_wait guest1 "GUEST waiting" 400
	same "$(lab_guest_value guest1 token)" t1
	same "$(lab_guest_value guest1 label)" ephemeral0
	same "$(lab_guest_value guest1 serial)" ephemeral0
	same "$(lab_guest_value guest1 fstype)" ext4
	same "$(lab_guest_value guest1 size)" $((256 << 20))
}

test_running_domain_refuses_delete() {
	expect 4 ephlvm delete --yes "$(uuid 1)"
	holds "$err" guest1
	expect 4 ephlvm delete --yes --domain-gone "$(uuid 1)"
	holds "$err" guest1
	# Without libvirt the open count decides, and says who.
	lab_libvirtd_stop
	expect 4 ephlvm delete --yes "$(uuid 1)"
	holds "$err" qemu
	holds "$err" "libvirt could not be asked"
	lab_libvirtd_start
	same "$(ephlvm list --noheadings -o state --instance "$(uuid 1)" | xargs)" ready
}

test_attach_again_is_nothing_to_do() {
	before=$(virsh dumpxml guest1 | sha256sum)
	expect 0 ephlvm attach "$(uuid 1)"
	same "$(virsh dumpxml guest1 | sha256sum)" "$before"
}

test_shut_off_domain_needs_the_word() {
	secret=$(lab_guest_value guest1 secret)
	virsh -q shutdown guest1
	lab_guest_gone guest1 120
	# In files, and in the first, a middle and the last 4 KiB.
	for page in 0 $((256 << 8 >> 1)) $(((256 << 8) - 1)); do
		dd if="/dev/ephlvm/$(uuid 1)_disk.eph0" bs=4096 skip=$page count=1 iflag=direct status=none | grep -qa "$secret"
	done
	expect 4 ephlvm delete --yes "$(uuid 1)"
	holds "$err" "--domain-gone"
	holds "$err" guest1
	[ "$(found /dev/nvme0n1 "$secret")" -gt 0 ]
	expect 0 ephlvm delete --yes --domain-gone "$(uuid 1)"
	expect 0 ephlvm purge
	same "$(found /dev/nvme0n1 "$secret")" 0
	virsh -q undefine guest1
}

test_other_domain_keeps_the_volume() {
	expect 0 ephlvm create "$(uuid 2)" --flavor t.tiny
	lab_guest_xml stranger "$(uuid 77)" "" >/tmp/stranger0.xml
	ephlvm xml add --source "/dev/ephlvm/$(uuid 2)_disk.eph0" </tmp/stranger0.xml >/tmp/stranger.xml
	virsh -q define /tmp/stranger.xml
	expect 4 ephlvm delete --yes --domain-gone "$(uuid 2)"
	holds "$err" stranger
	virsh -q undefine stranger
	expect 0 ephlvm delete --yes --wait "$(uuid 2)"
}

test_live_attach_and_detach() {
	expect 0 ephlvm create "$(uuid 3)" --flavor t.tiny
	lab_guest_xml guest3 "$(uuid 3)" "eph.do=hotplug,sleep eph.dev=vdb" >/tmp/guest3.xml
	virsh -q define /tmp/guest3.xml
	virsh dumpxml --inactive guest3 >/tmp/before3.xml
	lab_guest_start guest3
	lab_guest_wait guest3 "GUEST waiting for vdb" 400
	expect 0 ephlvm attach "$(uuid 3)"
	lab_guest_wait guest3 "GUEST hotplug=vdb serial=ephemeral0" 120
	holds "$(virsh dumpxml --inactive guest3)" "ua-ephemeral0"
	expect 4 ephlvm delete --yes "$(uuid 3)"
	expect 0 ephlvm detach "$(uuid 3)"
	lab_guest_wait guest3 "GUEST unplugged=vdb" 120
	same "$(virsh dumpxml --inactive guest3 | grep -c ua-ephemeral0)" 0
	expect 0 ephlvm detach "$(uuid 3)"
	destroy 3
	expect 0 ephlvm delete --yes --wait "$(uuid 3)"
}

# What the tenant wrote into the volume must not act on the host.
nothing_on_the_host() {
	udevadm trigger --action=change --subsystem-match=block
	udevadm settle
	[ ! -e /dev/disk/by-label/hostroot ]
	[ ! -e /dev/disk/by-uuid/11111111-2222-3333-4444-555555555555 ]
	[ ! -e /dev/guestvg ]
	[ ! -e /dev/disk/by-label/ephemeral0 ]
	same "$(vgs --noheadings -o vg_name | xargs)" ephlvm
	same "$(pvs --noheadings -o pv_name | xargs)" /dev/nvme0n1
	same "$(dmsetup ls | grep -c guestvg)" 0
}

test_more_guest_formats_stay_and_do_not_act_on_the_host() {
	local n=10 action sum dev
	for action in $(sample 1 mkxfs gpt pvheader mkext4); do
		n=$((n + 1))
		expect 0 ephlvm create "$(uuid $n)" --flavor t.small --size 320M
		nothing_on_the_host
		define $n "eph.do=$action,off eph.label=hostroot eph.uuid=11111111-2222-3333-4444-555555555555"
		lab_guest_start guest$n
		lab_guest_wait guest$n "GUEST done $action" 400
		lab_guest_gone guest$n 120
		dev=/dev/ephlvm/$(uuid $n)_disk.eph0
		sum=$(sha256sum <"$dev")
		nothing_on_the_host
		expect 0 ephlvm create "$(uuid $n)" --flavor t.small --size 320M
		expect 0 ephlvm activate "$(uuid $n)"
		expect 0 ephlvm attach "$(uuid $n)"
		lvchange -an "ephlvm/$(uuid $n)_disk.eph0"
		expect 0 ephlvm activate --all
		nothing_on_the_host
		same "$(sha256sum <"$dev")" "$sum"
		virsh -q undefine guest$n
		expect 0 ephlvm delete --yes "$(uuid $n)"
		expect 0 ephlvm purge
	done
}

# Killed before and behind each change by libvirt: the same command again ends where it should.
test_more_killed_attach_and_detach_converge() {
	local step count
	expect 0 ephlvm create "$(uuid 4)" --flavor t.tiny
	lab_guest_xml guest4 "$(uuid 4)" "" >/tmp/guest4.xml
	virsh -q define /tmp/guest4.xml
	virsh dumpxml --inactive guest4 >/tmp/before4.xml
	for step in libvirt-attach libvirt-attached libvirt-detach libvirt-detached; do
		got=0
		case $step in
		libvirt-attach*)
			EPHLVM_STOP_AT=$step ephlvm attach "$(uuid 4)" >/dev/null 2>&1 || got=$?
			;;
		*) EPHLVM_STOP_AT=$step ephlvm detach "$(uuid 4)" >/dev/null 2>&1 || got=$? ;;
		esac
		same "$step $got" "$step 137"
		count=0
		case $step in
		libvirt-attach) expect 0 ephlvm attach "$(uuid 4)" && count=1 && expect 0 ephlvm detach "$(uuid 4)" ;;
		libvirt-attached) expect 0 ephlvm attach "$(uuid 4)" && count=1 ;;
		libvirt-detach) expect 0 ephlvm detach "$(uuid 4)" && expect 0 ephlvm attach "$(uuid 4)" && count=1 ;;
		libvirt-detached) expect 0 ephlvm detach "$(uuid 4)" ;;
		esac
		[ $step = libvirt-attach ] || same "$step $(virsh dumpxml --inactive guest4 | grep -c ua-ephemeral0)" "$step $count"
	done
	diff <(virsh dumpxml --inactive guest4) /tmp/before4.xml
	virsh -q undefine guest4
	expect 0 ephlvm delete --yes --wait "$(uuid 4)"
}

test_hostile_domain_name_is_escaped() {
	expect 0 ephlvm create "$(uuid 30)" --flavor t.tiny
	sed "s|<name>x</name>|<name>evil\&#x9b;name</name>|" <(lab_guest_xml x "$(uuid 31)" "") |
		ephlvm xml add --source "/dev/ephlvm/$(uuid 30)_disk.eph0" >/tmp/evil2.xml
	virsh -q define /tmp/evil2.xml
	expect 4 ephlvm delete --yes "$(uuid 30)"
	same "$(printf '%s' "$err" | LC_ALL=C tr -d '\n' | LC_ALL=C grep -c "$(printf '[\001-\037\177]')")" 0
	holds "$err" 'evil\xc2\x9bname'
	virsh -q undefine "$(uuid 31)"
	expect 0 ephlvm delete --yes --wait "$(uuid 30)"
}

run_tests
