# shellcheck shell=bash
# Sourced by tests/cli/run: images and devices that somebody else uses.

# A second lkvm that holds what -d ARG names, until release.
hold() { # ARG
	rm -f holder && mkfifo holder
	"$LKVM" run -k "$PAYLOAD" -p test=hlt -d "$1" >holder 2>.err.holder </dev/null &
	holder=$!
	exec 3<holder
	timeout 20 grep -qm1 'payload: ' <&3 # the guest's own word that it runs
}
release() { # SIGNAL
	kill "-$1" "$holder"
	wait "$holder" 2>/dev/null
	exec 3<&-
	rm -f holder
}
good() { # NAME ARGS...: starts
	local name=$1
	shift
	timeout 20 "$LKVM" run -k "$PAYLOAD" -p test=hello "$@" >.out 2>.err </dev/null
	expect_eq "$name" "$? $(head -c 300 .err)" '0 '
}

truncate -s 1M locked.img
if hold locked.img; then
	bad 'an image that another lkvm writes' 'locked.img.*in use by another.*lock=off' \
		run -k "$PAYLOAD" -d locked.img
	bad 'an image that another lkvm writes, with ro' 'locked.img.*being written.*lock=off' \
		run -k "$PAYLOAD" -d locked.img,ro
	good 'lock=off goes in beside a writer' -d locked.img,lock=off
else
	not_ok 'an image that another lkvm writes' "the first never ran: $(head -c 200 .err.holder)"
fi
release KILL
good 'the image is free after kill -9' -d locked.img
if hold locked.img,ro; then
	bad 'an image that another lkvm reads' 'locked.img.*in use by another.*,ro' \
		run -k "$PAYLOAD" -d locked.img
	good 'two lkvm with ro' -d locked.img,ro
else
	not_ok 'an image that another lkvm reads' "the first never ran: $(head -c 200 .err.holder)"
fi
release TERM
good 'the image is free after SIGTERM' -d locked.img
ln -s locked.img alias.img
good 'one image twice, both ro' -d locked.img,ro -d alias.img,ro
good 'one image twice, lock=off' -d locked.img,lock=off -d alias.img,lock=off

# --- a device that the host uses ---------------------------------------------
mounted_device() { # DEVICE
	local option
	for option in '' ,ro ,lock=off; do
		bad "a mounted device${option:+ with $option}" "$1.*mounted at .*/mnt;.*unmount.*force" \
			run -k "$PAYLOAD" -d "$1$option"
	done
	good 'a mounted device with force' -d "$1,force"
	good 'a mounted device with ro and force' -d "$1,ro,force"
	umount mnt
	if hold "$1"; then
		if mount "$1" mnt 2>/dev/null; then
			not_ok 'a device in use cannot be mounted' 'it was'
			umount mnt
		else
			ok 'a device in use cannot be mounted'
		fi
		bad 'a device that another lkvm writes' "$1.*in use by another" \
			run -k "$PAYLOAD" -d "$1"
		bad 'a device that another lkvm has claimed, with lock=off' "$1.*in use.*force" \
			run -k "$PAYLOAD" -d "$1,lock=off"
	else
		not_ok 'a device that another lkvm writes' "the first never ran: $(head -c 200 .err.holder)"
	fi
	release KILL
	good 'the device is free after kill -9' -d "$1"
}
truncate -s 16M fs.img
mkdir mnt
if [ "$(id -u)" -ne 0 ]; then
	skip 'a mounted device' 'takes root to mount one'
elif ! mkfs.ext4 -q fs.img 2>/dev/null || ! loop=$(losetup -f --show fs.img 2>/dev/null); then
	skip 'a mounted device' 'no mkfs.ext4 or no loop device here'
elif ! mount "$loop" mnt 2>/dev/null; then
	losetup -d "$loop"
	skip 'a mounted device' 'mounting is not allowed here'
else
	mounted_device "$loop"
	losetup -d "$loop"
fi
