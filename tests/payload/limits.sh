# shellcheck shell=bash
# Sourced by tests/payload/run: little memory to lock, and a file system that may have
# no O_DIRECT.

# --- locked memory --------------------------------------------------------------------
# An ordinary user may lock less than an engine wants to register of 4 GiB: the guest
# gets the same data without.  Root counts as one without the capability (and unlike
# one may always open /dev/kvm).
lkvm_as_it_is=$LKVM
limited() { # KIB: LKVM may lock so much; a status where that cannot be had
	local drop=''
	[ "$(id -u)" -ne 0 ] || drop='setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock'
	printf '#!/bin/sh\nexec prlimit --memlock=%s %s "%s" "$@"\n' \
		$(($1 * 1024)) "$drop" "$lkvm_as_it_is" >"$tmp/limited"
	chmod 755 "$tmp/limited"
	LKVM=$tmp/limited
	"$LKVM" version >/dev/null 2>&1
}
# locked NAME OPTIONS: all the checks of the disk pass, and the image is right
locked() {
	cp "$tmp/good.img" "$tmp/disk.img"
	suite "$1" "test=blk pattern=1 sectors=$sectors serial=payload write=1" -m 4G \
		-d "$tmp/disk.img,serial=payload$2" --debug
	image_is "$1: what was written is in the image, and nothing else" 1
}
# locked_named NAME OPTIONS: the same, or the kernel counts rings too (6.14) and an
# engine that has to have one is refused
locked_named() {
	local rc lines
	boot 'test=hello' -m 4G -d "$tmp/disk.img,serial=payload$2"
	rc=$?
	lines=$(wc -l <"$tmp/err")
	if [ $rc -ne 125 ]; then
		locked "$1" "$2"
		case $2 in *direct*)
			if grep -q 'no registered memory.*ulimit -l' "$tmp/err"; then
				ok "$1: without registered memory, and says why"
			else
				not_ok "$1: without registered memory, and says why" "$(cat "$tmp/err")"
			fi
			;;
		esac
	elif [ "$lines" -eq 1 ] && grep -q "disk.img.*engine uring.*ulimit -l" "$tmp/err"; then
		ok "$1: refused, with the limit and the remedy"
	else
		not_ok "$1: refused, with the limit and the remedy" "$(cat "$tmp/err")"
	fi
}
if [ "$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)" -lt $((4 << 20)) ]; then
	skip 'limits on locked memory' 'this host has not 4 GiB to give'
elif ! "$LKVM" version | grep -q 'uring (lib'; then
	skip 'limits on locked memory' 'lkvm was built without io_uring'
else
	for kib in 64 0; do
		if ! limited $kib; then
			skip "ulimit -l $kib" 'the limit or the capability cannot be changed here'
			continue
		fi
		locked "ulimit -l $kib, buffered, auto" ''
		locked_named "ulimit -l $kib, buffered, engine=uring" ',engine=uring'
		[ "$direct" -eq 1 ] || continue
		locked "ulimit -l $kib, direct, auto" ',direct'
		locked_named "ulimit -l $kib, direct, engine=uring" ',direct,engine=uring'
	done
fi
LKVM=$lkvm_as_it_is

# --- tmpfs ------------------------------------------------------------------------------
# It takes O_DIRECT since Linux 6.6; before that it is an error with the remedy.
on_tmpfs() {
	local name='direct on tmpfs' image rc
	if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" != tmpfs ]; then
		skip "$name" '/dev/shm is none'
		return
	fi
	image=$(mktemp /dev/shm/lkvm-test.XXXXXX)
	cp "$tmp/good.img" "$image"
	if dd if="$image" of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null; then
		suite "$name: any address and length" 'test=align write=1' -m 64 -d "$image,direct"
	else
		boot 'test=hello' -m 64 -d "$image,direct"
		rc=$?
		if [ $rc -eq 125 ] && grep -q "$image.*no O_DIRECT; leave out 'direct'" "$tmp/err"; then
			ok "$name: refused, with the remedy"
		else
			not_ok "$name: refused, with the remedy" "$(reason $rc 125)"
		fi
	fi
	rm -f "$image"
}
on_tmpfs
