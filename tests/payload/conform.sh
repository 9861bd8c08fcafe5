# shellcheck shell=bash
# Sourced by tests/payload/run: what a driver may rely on, case by case and
# counted by family.  Two disks: one is tried, the other has to go on.
conform() { # NAME PARAMS OPTIONS ARGS...
	local name=$1 params=$2 options=$3
	shift 3
	cp "$tmp/good.img" "$tmp/disk.img"
	suite "conformance: $name" "$params" -m 64 -d "$tmp/disk.img,serial=payload$options" \
		-d "$tmp/good.img,ro" "$@"
}
# A disk that sleeps at once when its ring is empty: that a kick is not heard can be seen.
conform 'BARs of a device in use' 'test=bar' ',poll=off'
conform 'BARs of a device in use, packed ring' 'test=bar rings=packed' ',poll=off,packed=on'
for r in split packed; do
	conform "features, status, reset: $r" "test=state rings=$r" ',packed=on'
	conform "queue registers: $r" "test=queue rings=$r" ',packed=on,queues=4'
	for e in on off; do
		conform "interrupts: $r, event_idx=$e" "test=irq rings=$r event_idx=$e" ',packed=on,queues=2'
	done
done
conform 'interrupts: one vector' 'test=irq' ',vectors=1'
conform 'interrupts: INTx alone' 'test=irq' ',vectors=0'
for r in split packed; do
	conform "three CPUs: $r" "test=cpus rings=$r" ',packed=on,queues=2' -c 3
done
