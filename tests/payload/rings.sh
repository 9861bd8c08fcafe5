# shellcheck shell=bash
# Sourced by tests/payload/run: rings, notifications, descriptor layouts, alignment.

# --- which features a driver finds ------------------------------------------------
# A payload that wants a ring feature that is not offered ends with a panic.
offers() { # WORD OPTION ARGS...: with OPTION the driver gets what WORD asks for
	load "ring feature: $2 and $1" "depth=4 count=2000 $1" ",$2"
}
refuses() { # WORD OPTION
	truncate -s 64M "$tmp/load.img"
	expect "ring feature: $2, so no $1" 99 'does not offer' "test=bench count=10 $1" -m 64 \
		-d "$tmp/load.img,$2"
}
offers rings=packed packed=on
refuses rings=packed packed=off
offers event_idx=off event_idx=off
refuses event_idx=on event_idx=off
offers indirect=off indirect=off
refuses indirect=on indirect=off
for r in split packed; do
	load "$r ring of 16, full" "rings=$r entries=16 depth=16" ",packed=on,qsize=16"
	expect "$r ring: no more than qsize=16" 99 'no queue 0 with 32 entries' \
		"test=bench rings=$r entries=32 depth=16" -m 64 -d "$tmp/load.img,packed=on,qsize=16"
	load "$r ring of 1024" "rings=$r entries=1024 depth=256" ",packed=on,qsize=1024"
	load "$r ring, full of chains of three" "rings=$r depth=85 indirect=off" ',packed=on'
	load "$r rings, 16 of them" "rings=$r queues=16 depth=8" ',packed=on,queues=16'
	load "$r ring, flags instead of events" "rings=$r event_idx=off" ',packed=on'
	load "$r ring with interrupts" "rings=$r irq=on depth=8" ',packed=on'
	blk "block device, $r ring" "write=1 rings=$r" ',packed=on'
	image_is "$r ring: what was written is in the image, and nothing else" 1
	blk "block device, $r ring, flags and chains" "write=1 rings=$r event_idx=off indirect=off" \
		',packed=on'
done

# --- no notification is lost --------------------------------------------------------
# More by hand: NOTIFY=200000 tests/payload/run
notify() { # RINGS EVENT_IDX OPTIONS
	local limit=$LIMIT
	LIMIT=$((LIMIT + ${NOTIFY:-300} / 200))
	suite "notifications: $1, event_idx=$2, $3" \
		"test=notify rings=$1 event_idx=$2 count=${NOTIFY:-300} watchdog=10000" -m 64 \
		-d "null:1G,packed=on,$3" --stats "$tmp/stats.json"
	LIMIT=$limit
	counted "notifications: $1, event_idx=$2, $3: heads taken, given back and counted by the driver agree"
}
# The counters of the last run against its "payload: N requests".
counted() { # NAME
	local want popped completed interrupts
	wanted "$1" || return
	want=$(sed -n 's/^payload: \([0-9]*\) requests$/\1/p' "$tmp/out")
	popped=$(counter popped) completed=$(counter completed) interrupts=$(counter interrupts)
	if [ -n "$want" ] && [ "$popped" = "$want" ] && [ "$completed" = "$want" ] &&
		[ "$interrupts" -le "$want" ]; then
		ok "$1"
	else
		not_ok "$1" "driver $want, popped $popped, completed $completed, interrupts $interrupts"
	fi
}
counter() { # NAME
	sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" "$tmp/stats.json" | head -1
}
for r in split packed; do
	for e in on off; do
		for p in off auto; do
			for c in off auto; do
				notify "$r" "$e" "poll=$p,coalesce=$c"
			done
		done
	done
done

# --- layouts, alignment ---------------------------------------------------------------
# A block device with sectors of 4 KiB that holds good.img; needs root.
dev4k='' dev4k_undo=true
trap 'rm -rf "$tmp"; $dev4k_undo' EXIT
zram_undo() {
	local i
	for ((i = 0; i < 50; i++)); do # busy while someone (udev) looks at it
		echo "${dev4k#/dev/zram}" 2>/dev/null >/sys/class/zram-control/hot_remove && return
		sleep 0.1
	done
}
loop_undo() {
	losetup -d "$dev4k"
}
make_4k() {
	local nr
	if nr=$(cat /sys/class/zram-control/hot_add 2>/dev/null); then
		dev4k=/dev/zram$nr dev4k_undo=zram_undo
		stat -c %s "$tmp/good.img" >"/sys/block/zram$nr/disksize"
	elif dev4k=$(losetup -f --show -b 4096 "$tmp/disk.img" 2>/dev/null); then
		dev4k_undo=loop_undo
	else
		dev4k=''
	fi
}
on_4k() { # NAME PARAMS OPTIONS
	if [ -z "$dev4k" ]; then
		skip "$1" 'no zram or loop device of our own to be had (root?)'
		return
	fi
	dd if="$tmp/good.img" of="$dev4k" bs=1M conv=fsync status=none
	suite "$1" "$2" -m 64 -d "$dev4k,serial=payload$3"
}
on_file() { # NAME PARAMS OPTIONS
	cp "$tmp/good.img" "$tmp/disk.img"
	suite "$1" "$2" -m 64 -d "$tmp/disk.img,serial=payload$3"
}
make_4k
for r in split packed; do
	words="write=1 serial=payload rings=$r"
	on_file "descriptor layouts: $r" "test=layout $words" ',packed=on'
	on_file "descriptor layouts: $r, no INDIRECT" "test=layout $words indirect=off" ',packed=on'
	on_4k "descriptor layouts: $r, blocks of 4 KiB" "test=layout $words" ',packed=on'
	on_4k "descriptor layouts: $r, blocks of 4 KiB, direct" "test=layout $words" ',packed=on,direct'
done
on_file 'any address and length' 'test=align write=1' ''
on_4k 'any address and length, blocks of 4 KiB' 'test=align write=1 block=4096' ''
on_4k 'any address and length, blocks of 4 KiB, direct' 'test=align write=1 block=4096' ',direct'
if [ "$direct" -eq 1 ]; then
	on_file 'descriptor layouts: direct' 'test=layout write=1 serial=payload' ',direct'
	on_file 'any address and length, direct' 'test=align write=1' ',direct'
else
	skip 'layouts and addresses, direct' "$tmp takes no O_DIRECT: set TMPDIR"
fi

# --- a driver that does not know of read-only -----------------------------------------
readonly_disk() { # MODE WORDS
	local before
	cp "$tmp/good.img" "$tmp/ro.img"
	chmod "$1" "$tmp/ro.img"
	touch -d '2020-02-02 02:02:02' "$tmp/ro.img"
	before=$(stat -c '%y %s %a' "$tmp/ro.img")
	suite "read-only: a driver that ignores it, mode $1, $2" "test=readonly $2" -m 64 \
		-d "$tmp/ro.img,ro,packed=on"
	if cmp -s "$tmp/good.img" "$tmp/ro.img" && [ "$(stat -c '%y %s %a' "$tmp/ro.img")" = "$before" ]; then
		ok "read-only, mode $1, $2: file and time of change as before"
	else
		not_ok "read-only, mode $1, $2: file and time of change as before" \
			"was $before, is $(stat -c '%y %s %a' "$tmp/ro.img")"
	fi
	rm -f "$tmp/ro.img"
}
for m in 0444 0644; do
	readonly_disk $m 'flush=on'
	readonly_disk $m 'flush=off rings=packed'
done
