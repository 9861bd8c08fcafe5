# shellcheck shell=bash
# Sourced by tests/payload/run: drivers that break the rules of rings and
# requests, case by case.  What is right is in the tables of test_hostile_*.c.
hostile() { # RINGS WORDS OPTIONS
	local name="hostile driver: $1 ring${2:+, $2}${3:+, $3}"
	local LIMIT=$((2 * LIMIT)) # hundreds of resets, on a machine that may be busy
	cp "$tmp/good.img" "$tmp/disk.img"
	suite "$name" "test=hostile rings=$1 $2" -m 64 -d "$tmp/disk.img,packed=on,queues=2$3" \
		-d "$tmp/good.img,ro" --stats "$tmp/stats.json"
	image_is "$name: the image is as before" 0
	returned "$name"
}
for r in split packed; do
	hostile "$r" '' ''
	hostile "$r" 'indirect=off event_idx=off' ',poll=off,coalesce=off'
done
# RAM below the hole and above 4 GiB, each with an end
hostile_edges() { # RINGS
	if [ "$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)" -lt $((3328 * 1024)) ]; then
		skip "buffers at the ends of 3328 MiB, $1 ring" 'this host has less to give'
		return
	fi
	cp "$tmp/good.img" "$tmp/disk.img"
	truncate -s 2G "$tmp/disk.img" # a buffer as long as the hole is not too long for it
	suite "buffers at the ends of 3328 MiB, $1 ring" "test=hostile only=edges rings=$1" -m 3328 \
		-d "$tmp/disk.img,packed=on" -d "$tmp/good.img,ro"
	truncate -s "$(stat -c %s "$tmp/good.img")" "$tmp/disk.img"
	image_is "buffers at the ends of 3328 MiB, $1 ring: the image is as before" 0
}
hostile_edges split
hostile_edges packed
