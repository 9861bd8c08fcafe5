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
# A disk that sleeps at once when its ring is empty: that a kick is not heard can be seen.
hreg 'split rings' 'test=hreg' ',poll=off'
hreg 'packed rings' 'test=hreg rings=packed' ',poll=off'
