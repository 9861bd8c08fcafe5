# shellcheck shell=bash
# Sourced by tests/payload/run: a driver that breaks the rules of registers, queue
# set-up, notification, reset and BARs, case by case and counted by family.
hreg() { # NAME PARAMS OPTIONS ARGS...
	local name=$1 params=$2 options=$3 LIMIT=$((4 * LIMIT)) # so many exits that a busy host needs a while
	shift 3
	cp "$tmp/good.img" "$tmp/disk.img"
	suite "hostile registers: $name" "$params" -m 64 -d "$tmp/disk.img,queues=4,packed=on$options" \
		-d "$tmp/good.img,ro" "$@"
}
# A disk that sleeps at once when its ring is empty: that a kick is not heard can
# be seen.  On packed rings and one software KVM, once in about a dozen boots the
# disk heard all kicks beside the doorbell.  Whether it, the test or that KVM is
# wrong is not known: there these 12 are not part of every run.
hreg 'split rings' 'test=hreg' ',poll=off'
if [ "${LK_FULL:-0}" = 1 ] || [ "${LK_BOX:-0}" = 1 ]; then
	hreg 'packed rings' 'test=hreg rings=packed' ',poll=off'
else
	hreg 'packed rings' 'test=hreg rings=packed beside=off' ',poll=off'
	skip 'hostile registers: packed rings: 12 kicks beside the doorbell' 'LK_FULL=1 has them'
fi

# A third disk that is slow, so that its requests are under way at a reset.
hreg 'resets with 128 reads a queue in flight' 'test=hreset' '' -c 2 \
	-d null:8G,latency=2000,queues=4,qsize=512,packed=on
