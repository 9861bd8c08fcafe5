# Sourced by the groups: booting a guest under lkvm and looking at what it said.
#
# Sets: series, kernel, initrd, base (the disk image of mkdisk), tmp (for this
# group's images, thrown away), out (the console output of the last guest),
# err (lkvm's own messages), status, took (ms).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib.sh

BUILD=${BUILD:-build}
series=$1
lkvm=${LKVM:-$BUILD/lkvm}
kernel=$BUILD/kernel/$series/vmlinuz
initrd=$BUILD/guest/initrd-$series.img
base=$BUILD/guest/disk-$series.img
tmp=$(mktemp -d "$PWD/$BUILD/linux.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
out=$tmp/out
err=$tmp/err
guest_limit=${LK_GUEST_LIMIT:-120} # seconds: catches a hang

# now: milliseconds
now() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# disk NAME: a fresh copy of the base image; prints its path
disk() {
	cp --sparse=always "$base" "$tmp/$1.img"
	echo "$tmp/$1.img"
}

# boot ARG...: lkvm run with the kernel and initrd of this series
boot() {
	local start
	start=$(now)
	timeout -k 5 "$guest_limit" "$lkvm" run -k "$kernel" -i "$initrd" "$@" \
		>"$out.raw" 2>"$err" </dev/null
	status=$?
	took=$(($(now) - start))
	echo "# guest took $took ms"
	tr -d '\r' <"$out.raw" >"$out"
}

# guest TEST [TEST-ARGS] -- ARG...: runs /test/TEST of the image in the guest,
# which is booted by $boot_with (boot)
guest() {
	local test=$1 args=""
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		args="$args${args:+,}$1"
		shift
	done
	shift
	# what has blanks goes in quotes and is not split at commas
	case $args in *" "*) args="\"$args\"" ;; esac
	"${boot_with:-boot}" -p "quiet lk.test=$test lk.args=$args ${extra_params:-}" "$@"
}

# said PATTERN: lines of the guest
said() { grep -E -- "$1" "$out"; }

# tail of both outputs in one line, for reasons
last_words() { { tail -n 4 "$out"; tail -n 3 "$err"; } | tr '\n' '|' | tail -c 400; }

# passed NAME TEST: the guest's test ended with 0, lkvm with 0
passed() {
	if [ "$status" -ne 0 ]; then
		not_ok "$1" "lkvm ended with $status: $(last_words)"
		return 1
	fi
	if ! grep -q "^LK-RESULT $2 0$" "$out"; then
		not_ok "$1" "$(said '^LK-RESULT' || echo 'no result'): $(last_words)"
		return 1
	fi
	ok "$1"
}
