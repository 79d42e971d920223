# shellcheck shell=bash
# Shell library of the lab's test scripts. Source it inside the lab (tests/lab/run sets EPHLVM_LAB).
# Nothing here touches the host: the lab's root is a throw-away overlay.
#
# Settings a script may change after sourcing:
#   LAB_GUEST_DIR   where guests' logs and first disks live (/tmp/lab-guests)
#   LAB_GUEST_TYPE  kvm (default where the lab has /dev/kvm: the lab's processor is emulated with AMD's SVM, so a
#                   guest needs no second emulation and is up in about 8 s) or qemu (about 80 to 140 s)
#   LAB_GUEST_VDA   1 (default): each guest has a small first disk, so that ours becomes vdb; 0: none
#   LAB_GUEST_MEM   the guest's memory in MiB (192)

[ -n "${EPHLVM_LAB:-}" ] || { echo "tests/lab/lib.sh: only inside the lab; use tests/lab/run" >&2; exit 125; }

LAB_GUEST_DIR=${LAB_GUEST_DIR:-/tmp/lab-guests}
LAB_GUEST_VDA=${LAB_GUEST_VDA:-1}
LAB_GUEST_MEM=${LAB_GUEST_MEM:-192}
modprobe -q kvm_amd 2>/dev/null || true
if [ -z "${LAB_GUEST_TYPE:-}" ]; then
	LAB_GUEST_TYPE=qemu
	[ ! -e /dev/kvm ] || LAB_GUEST_TYPE=kvm
fi
export LIBVIRT_DEFAULT_URI=qemu:///system

# lab_say WORDS...: one line of progress on stderr, with the seconds since the lab's start.
lab_say() { echo "[$(cut -d . -f 1 /proc/uptime) s] $*" >&2; }

# lab_wait_for SECONDS COMMAND...: runs COMMAND every 0.2 s until it succeeds; 1 when the time is up.
lab_wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

# lab_libvirtd_start: starts the real libvirtd and returns when it answers; 1 and its log when it does not.
lab_libvirtd_start() {
	local saved=/run/lab/ctl/libvirt-capabilities caps=/var/cache/libvirt/qemu/capabilities
	mkdir -p /etc/libvirt /var/log/libvirt "$LAB_GUEST_DIR"
	cat >/etc/libvirt/qemu.conf <<-'END'
		security_driver = "none"
		user = "root"
		group = "root"
		cgroup_controllers = []
		namespaces = []
		remember_owner = 0
		stdio_handler = "file"
	END
	rm -f /etc/libvirt/qemu/networks/autostart/*
	# Probing QEMU takes seconds; libvirt checks by itself whether an earlier result still holds.
	if [ -d "$saved" ]; then
		mkdir -p "$caps"
		cp -p "$saved"/* "$caps/" 2>/dev/null || true
	fi
	LIBVIRT_LOG_OUTPUTS="3:file:/var/log/libvirt/libvirtd.log" libvirtd -d </dev/null >/dev/null 2>&1
	if ! lab_wait_for 120 virsh version >/dev/null 2>&1; then
		lab_say "libvirtd does not answer:"
		virsh version >&2 || true
		tail -n 40 /var/log/libvirt/libvirtd.log >&2
		return 1
	fi
	mkdir -p "$saved"
	cp -p "$caps"/* "$saved/" 2>/dev/null || true
}

# lab_libvirtd_stop: stops libvirtd (guests go on running, as on a real node) and waits until it is gone.
lab_libvirtd_stop() {
	local pid
	pid=$(cat /run/libvirtd.pid 2>/dev/null) || return 0
	kill "$pid" 2>/dev/null || return 0
	lab_wait_for 60 eval "[ ! -d /proc/$pid ]"
}

# lab_guest_xml NAME UUID [CMDLINE]: prints a domain whose guest does what CMDLINE asks (eph.token=, eph.do=,
# see initramfs/guest-init). Its only disk is the small vda, unless LAB_GUEST_VDA is 0; its console goes to
# $LAB_GUEST_DIR/NAME.log.
lab_guest_xml() {
	local name=$1 uuid=$2 extra=${3:-} cpu='' tcg='' disk=''
	mkdir -p "$LAB_GUEST_DIR"
	if [ "$LAB_GUEST_TYPE" = kvm ]; then
		cpu="  <cpu mode='host-passthrough'/>"
	else
		tcg=" tsc=unstable lpj=1000000"
	fi
	if [ "$LAB_GUEST_VDA" = 1 ]; then
		truncate -s 8M "$LAB_GUEST_DIR/$name.vda"
		disk="    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' cache='unsafe'/>
      <source file='$LAB_GUEST_DIR/$name.vda'/>
      <target dev='vda' bus='virtio'/>
    </disk>"
	fi
	cat <<-END | sed '/^$/d'
		<domain type='$LAB_GUEST_TYPE'>
		  <name>$name</name>
		  <uuid>$uuid</uuid>
		  <memory unit='MiB'>$LAB_GUEST_MEM</memory>
		  <vcpu>1</vcpu>
		  <os>
		    <type arch='x86_64' machine='pc'>hvm</type>
		    <kernel>$EPHLVM_LAB_BOOT/vmlinux</kernel>
		    <initrd>$EPHLVM_LAB_BOOT/guest.img</initrd>
		    <cmdline>console=ttyS0 quiet panic=-1 nokaslr mitigations=off no_timer_check noxsave pci=noearly audit=0 apparmor=0 ipv6.disable=1 cryptomgr.notests 8250.nr_uarts=1 i8042.noaux random.trust_cpu=on$tcg $extra</cmdline>
		  </os>
		  <features><acpi/><apic/></features>
		$cpu
		  <clock offset='utc'/>
		  <on_poweroff>destroy</on_poweroff>
		  <on_reboot>destroy</on_reboot>
		  <on_crash>destroy</on_crash>
		  <devices>
		    <emulator>/usr/bin/qemu-system-x86_64</emulator>
		$disk
		    <controller type='usb' model='none'/>
		    <serial type='file'>
		      <source path='$LAB_GUEST_DIR/$name.log'/>
		      <target port='0'/>
		    </serial>
		    <memballoon model='none'/>
		  </devices>
		</domain>
	END
}

# lab_guest_running NAME: whether the domain's QEMU is there.
lab_guest_running() {
	local pid=
	read -r pid 2>/dev/null <"/run/libvirt/qemu/$1.pid" || [ -n "$pid" ] || return 1
	[ -d "/proc/$pid" ]
}

# lab_guest_log NAME: prints the guest's console so far, line ends cleaned.
lab_guest_log() { tr -d '\r' 2>/dev/null <"$LAB_GUEST_DIR/$1.log"; }

# lab_guest_has NAME TEXT: whether the guest's console holds TEXT. Starts no program: waiting must not take
# the processor away from the guest.
lab_guest_has() {
	local log=
	read -r -d '' log 2>/dev/null <"$LAB_GUEST_DIR/$1.log" || [ -n "$log" ] || return 1
	[[ $log == *"$2"* ]]
}

# lab_guest_wait NAME TEXT SECONDS: waits until the console holds TEXT ("GUEST done df"), saying so every ten
# seconds. 1, with the reason and the console's end, when the guest reports a failure, ends, or the time is up.
lab_guest_wait() {
	local name=$1 text=$2 limit=$3 start=$SECONDS next=10 reason='' gone
	while :; do
		# Whether it runs is asked first: a guest may say its last line and go in between.
		gone=
		lab_guest_running "$name" || gone=1
		if lab_guest_has "$name" "$text"; then
			return 0
		elif lab_guest_has "$name" "GUEST FAIL"; then
			reason="reports a failure"
		elif lab_guest_has "$name" "Kernel panic"; then
			reason="panicked"
		elif [ -n "$gone" ]; then
			reason="is not running"
		elif [ $((SECONDS - start)) -ge "$limit" ]; then
			reason="timed out after $limit s"
		fi
		if [ -n "$reason" ]; then
			lab_say "guest $name $reason while waiting for '$text'; end of its console:"
			lab_guest_log "$name" | tail -n 40 | sed 's/^/    /' >&2
			return 1
		fi
		if [ $((SECONDS - start)) -ge "$next" ]; then
			next=$((next + 10))
			lab_say "guest $name: waiting for '$text' ($((SECONDS - start)) of $limit s)"
		fi
		sleep 0.5
	done
}

# lab_guest_start NAME: starts a defined domain and returns when its init has spoken. Emulated SVM hangs a guest
# before its first word after some others have run; with kvm_amd loaded anew it does not. A start without a
# word, and only such a one, is given up and made again.
lab_guest_start() {
	local name=$1 try
	for try in 1 2 3; do
		if [ "$LAB_GUEST_TYPE" = kvm ]; then
			# Refused while another guest runs, which is as well.
			modprobe -q -r kvm_amd 2>/dev/null || true
			modprobe -q kvm_amd
		fi
		rm -f "$LAB_GUEST_DIR/$name.log"
		virsh -q start "$name" || return 1
		if lab_wait_for 90 lab_guest_has "$name" "GUEST token="; then
			return 0
		fi
		if [ -s "$LAB_GUEST_DIR/$name.log" ]; then
			break
		fi
		lab_say "guest $name said nothing within 90 s (start $try): starting it again"
		virsh -q destroy "$name" || true
		lab_guest_gone "$name" 60 || true
	done
	lab_guest_wait "$name" "GUEST token=" 300
}

# lab_guest_value NAME KEY: the value of the guest's last line "GUEST KEY=value"; 1 when it has none.
lab_guest_value() {
	local line
	line=$(lab_guest_log "$1" | grep -F "GUEST $2=" | tail -n 1)
	[ -n "$line" ] && echo "${line#*"$2"=}"
}

# lab_guest_gone NAME SECONDS: waits until the domain's QEMU has ended.
lab_guest_gone() {
	lab_wait_for "$2" eval "! lab_guest_running '$1'"
}

# lab_crash [STATUS]: ends the lab at once as a power cut of the host would: nothing is written back. What the drives
# had by then stays (--keep-disks). tests/lab/run exits with STATUS (0).
lab_crash() {
	echo "${1:-0}" >/run/lab/ctl/status
	echo b >/proc/sysrq-trigger
	sleep 60
}
