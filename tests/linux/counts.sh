# shellcheck shell=bash disable=SC2154,SC2034 # lib.sh sets and uses them
#
# Sourced after lib.sh by groups that count what the host does for a guest.
#
# counted_boot and counted_guest are boot and guest with the kernel counting,
# from lkvm's start to its end, and with --stats.  What both found is in
# $tmp/counts afterwards, lines "SOURCE NAME DISK NUMBER"; count() reads one.
#
#	trace kicks D	  guest writes to a notify address of disk D (kvm_mmio; an
#			  ioeventfd takes them: KVM reports the write before it
#			  looks who wants it.  kvm_fast_mmio counts them on
#			  Intel alone, where it stands for kvm_mmio)
#	trace interrupts all	MSIs that were sent (kvm_msi_set_irq)
#	trace halts all		exits because the guest halted (kvm_exit)
#	trace calls D		system calls of the I/O threads of disk D
#				(raw_syscalls:sys_enter by the threads' names),
#				without
#	trace once D		those of its threads' start and end
#	trace call-NAME D	the same by system call
#	perf NAME all		kicks, interrupts, halts, calls once more, by perf
#				stat, where $with_perf is 1
#	guest requests D	what the guest's block layer had done (the test
#				"requests" has to be run last in the guest)
#	guest interrupts D	and how often it was interrupted
#	lkvm NAME D		--stats: members of the disk's total
#
# Kernel and lkvm count all of a VM's life.  Only where nothing else runs VMs:
# in the test box.

tracing=/sys/kernel/tracing
with_perf=0
kick_filter='type == 2 && len == 2 && (gpa & 0x1000) && (gpa & 0x2000)' # the notify page of a BAR

# EVENT=TRIGGER
histograms=(
	"kvm/kvm_mmio=hist:keys=gpa:size=1024 if $kick_filter"
	"kvm/kvm_msi_set_irq=hist:keys=address"
	"kvm/kvm_exit=hist:keys=isa,exit_reason:size=256"
	'raw_syscalls/sys_enter=hist:keys=id,common_pid.execname:size=1024 if comm ~ "blk-*"'
)

# Why counting is not possible here, or nothing
cannot_count() {
	local tool
	[ "${LK_BOX:-0}" = 1 ] || echo "only in the test box, where no other VM is counted"
	for tool in perf python3; do
		command -v $tool >/dev/null || echo "there is no $tool here"
	done
	[ -e $tracing/events/raw_syscalls/sys_enter/hist ] || echo "this kernel has no histograms of events"
}

counting_on() {
	local h
	for h in "${histograms[@]}"; do
		echo "${h#*=}" >"$tracing/events/${h%%=*}/trigger" || return
	done
}

counting_off() {
	local h event
	for h in "${histograms[@]}"; do
		event=${h%%=*}
		cat "$tracing/events/$event/hist" >"$tmp/hist-${event#*/}"
		echo "!${h#*=}" >"$tracing/events/$event/trigger"
	done
}

# The same as perf's events
perf_stat=(perf stat -a "-x," -e kvm:kvm_mmio --filter "$kick_filter" -e kvm:kvm_msi_set_irq
	-e kvm:kvm_exit --filter '(isa == 2 && exit_reason == 0x78) || (isa == 1 && exit_reason == 12)'
	-e raw_syscalls:sys_enter --filter 'comm ~ "blk-*"')

# Passes the guest's output on, with the number of halts so far behind each line
# "fiorows: begin" and "fiorows: end".
mark_halts() {
	local line
	while IFS= read -r line; do
		line=${line%$'\r'}
		case $line in
		"fiorows: begin "* | "fiorows: end "*)
			line="$line halts $(</sys/kernel/debug/kvm/halt_exits)" ;;
		esac
		printf '%s\n' "$line"
	done
}

counted_boot() { # ARG...
	local start command=()
	[ "$with_perf" = 0 ] || command=("${perf_stat[@]}" -o "$tmp/perf")
	command+=("$lkvm" run -k "$kernel" -i "$initrd" --stats "$tmp/stats.json" "$@")
	rm -f "$tmp"/{hist-*,stats.json,perf}
	counting_on || return
	start=$(now)
	timeout -k 5 "$guest_limit" "${command[@]}" 2>"$err" </dev/null | mark_halts >"$out"
	status=${PIPESTATUS[0]}
	took=$(($(now) - start))
	counting_off
	echo "# guest took $took ms"
	tests/linux/counts.py "$tmp" "$out" >"$tmp/counts"
}

counted_guest() { # TEST [TEST-ARGS] -- ARG...
	local boot_with=counted_boot
	guest "$@"
}

# null_device NAME NSEC [KEY=VALUE...]: makes /dev/NAME, which completes each
# request after so many nanoseconds, or within the submit where that is 0;
# further attributes as null_blk has them in configfs
null_device() {
	local dir=/sys/kernel/config/nullb/$1 word
	[ -d /sys/kernel/config/nullb ] || modprobe null_blk nr_devices=0 || return
	mountpoint -q /sys/kernel/config || mount -t configfs config /sys/kernel/config || return
	mkdir "$dir" || return
	for word in size=1024 blocksize=512 queue_mode=2 "completion_nsec=$2" \
		irqmode=$(($2 > 0 ? 2 : 0)) "${@:3}" power=1; do
		echo "${word#*=}" >"$dir/${word%%=*}" || return
	done
	[ -b "/dev/$1" ]
}

# Does this lkvm have the io_uring engine, and does this kernel?
have_uring() {
	"$lkvm" version | grep -q "^engines.*uring"
}

count() { # SOURCE NAME DISK
	awk -v s="$1" -v n="$2" -v d="$3" '$1 == s && $2 == n && $3 == d { found = $4 }
		END { print found + 0 }' "$tmp/counts"
}

# vd NUMBER: the name of a disk in the guest, vda is 0
vd() {
	local letters=abcdefghijklmnopqrstuvwxyz
	echo "vd${letters:$1:1}"
}

# per COUNT REQUESTS: to three places
per() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", b ? a / b : 0 }'; }

# calls_of DISK: its system calls one by one
calls_of() {
	sed -n "s/^trace call-\([a-z_0-9]*\) $1 \(.*\)/\1 \2/p" "$tmp/counts" | paste -sd ,
}

# within A B: 2% of A, or two where they are few
within() {
	local differ=$(($1 > $2 ? $1 - $2 : $2 - $1))
	[ $differ -le 2 ] || [ $((differ * 50)) -le "$1" ]
}

# expect_agree NAME A B
expect_agree() {
	if [ "$3" -gt 0 ] && within "$2" "$3"; then
		ok "$1"
	else
		not_ok "$1" "$2 against $3"
	fi
}

# expect_less NAME A B: A is less than B
expect_less() {
	if [ "$2" -lt "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "$2 is not less than $3"
	fi
}

# expect_at_most NAME COUNT SHARE REQUESTS: COUNT / REQUESTS <= SHARE, a decimal fraction
expect_at_most() {
	if awk -v a="$2" -v s="$3" -v b="$4" 'BEGIN { exit !(b > 0 && a <= s * b) }'; then
		ok "$1"
	else
		not_ok "$1" "$2 for $4 requests: $(per "$2" "$4")"
	fi
}
