# shellcheck shell=bash
# Sourced by tests/payload/run: a driver that breaks the rules of registers, queue
# set-up, notification, reset and BARs, case by case and counted by family.
hreg() { # NAME PARAMS OPTIONS ARGS...
	local name=$1 params=$2 options=$3 LIMIT=120 # so many exits that a busy host needs a while
	shift 3
	cp "$tmp/good.img" "$tmp/disk.img"
	suite "hostile registers: $name" "$params" -m 64 -d "$tmp/disk.img,queues=4,packed=on$options" \
		-d "$tmp/good.img,ro" "$@"
}
# A disk that sleeps at once when its ring is empty: that a kick is not heard can
# be seen.  Not in every run yet: once in about a dozen boots the disk heard
# kicks beside the doorbell, and whether it or the test is wrong is not known.
if [ "${LK_FULL:-0}" = 1 ]; then
	hreg 'split rings' 'test=hreg' ',poll=off'
	hreg 'packed rings' 'test=hreg rings=packed' ',poll=off'
fi

# A third disk that is slow, so that its requests are under way at a reset.
hreg 'resets with 128 reads a queue in flight' 'test=hreset' '' -c 2 \
	-d null:8G,latency=2000,queues=4,qsize=512,packed=on
