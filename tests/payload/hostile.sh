# shellcheck shell=bash
# Sourced by tests/payload/run: drivers that break the rules of rings and
# requests, case by case.  What is right is in the tables of test_hostile_*.c.
hostile() { # RINGS WORDS OPTIONS
	local name="hostile driver: $1 ring${2:+, $2}${3:+, $3}"
	local LIMIT=$((6 * LIMIT)) # hundreds of resets, on a machine that may be busy
	cp "$tmp/good.img" "$tmp/disk.img"
	suite "$name" "test=hostile rings=$1 $2" -m 64 -d "$tmp/disk.img,packed=on$3" \
		-d "$tmp/good.img,ro" --stats "$tmp/stats.json"
	image_is "$name: the image is as before" 0
}
for r in split packed; do
	hostile "$r" '' ''
	hostile "$r" 'indirect=off event_idx=off' ',poll=off,coalesce=off'
done
