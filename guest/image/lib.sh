# shellcheck shell=bash
#
# What the image builders have in common; sourced by them.
#
# After sourcing: $root is the checkout, $build the directory for output
# (environment: BUILD), $tmp a scratch directory that goes away at the end.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
# all in one directory that stays: who walks $build leaves it out as a whole
mkdir -p "$build/tmp"
tmp=$(mktemp -d "$build/tmp/XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# The programs that Debian's packages bring, and no others of the same names:
# what goes into the images is taken from here, too.
PATH=/usr/sbin:/usr/bin:/sbin:/bin

say()
{
	echo "${0##*/}: $*" >&2
}

die()
{
	say "$*"
	exit 1
}

need()
{
	command -v "$1" >/dev/null || die "no $1 here; tests/deps box installs it"
}

# Prints the path of a busybox that needs no libraries.
static_busybox()
{
	local file

	for file in /bin/busybox /usr/bin/busybox; do
		if [ -x "$file" ] && ! ldd "$file" >/dev/null 2>&1; then
			echo "$file"
			return
		fi
	done
	die "no static busybox here; tests/deps box installs it"
}

# copy_files DEST FILE...: copies files to the same place below DEST, links
# followed.  What exists is left.  Where / is merged into /usr, both ways to
# name a file give the one under /usr, as long as DEST has the same links.
copy_files()
{
	local dest=$1 file dir

	shift
	for file in "$@"; do
		dir=$dest${file%/*}
		[ -d "$dir" ] || mkdir -p "$dir"
		[ -e "$dest$file" ] || cp -L "$file" "$dest$file"
	done
}

# libraries_of FILE...: prints the libraries that programs or libraries load,
# all levels, with the dynamic loader.
libraries_of()
{
	{ ldd "$@" 2>/dev/null || true; } |
		awk '$2 == "=>" && $3 ~ /^\// { print $3 }
		     $1 ~ /^\// && $1 !~ /:$/ { print $1 }' | sort -u
}

# copy_programs DEST NAME...: programs found along PATH, with their libraries
# (those that are in DEST already are found in LD_LIBRARY_PATH).
copy_programs()
{
	local dest=$1 name file files=() libs

	shift
	for name in "$@"; do
		file=$(command -v "$name") || die "no $name here; tests/deps box installs it"
		files+=("$file")
	done
	copy_files "$dest" "${files[@]}"
	mapfile -t libs < <(libraries_of "${files[@]}" | grep -vF "$dest/")
	copy_files "$dest" "${libs[@]}"
}

# The directories of a root file system, / merged into /usr.
make_tree()
{
	local dest=$1 dir

	mkdir -p "$dest"/{dev,proc,sys,run,tmp,root,mnt,etc}
	mkdir -p "$dest"/usr/{bin,sbin,lib,lib64}
	for dir in bin sbin lib lib64; do
		ln -s "usr/$dir" "$dest/$dir"
	done
}

# install_busybox DEST: busybox, and a link for each of its functions that is
# not there as a program of its own.
install_busybox()
{
	local dest=$1 busybox applet

	busybox=$(static_busybox)
	cp "$busybox" "$dest/bin/busybox"
	"$busybox" --list-full | while read -r applet; do
		[ -x "$dest/usr/bin/${applet##*/}" ] ||
			[ -x "$dest/usr/sbin/${applet##*/}" ] ||
			ln -s /bin/busybox "$dest/usr/${applet#usr/}"
	done
}

# The hash of everything that is given: names of files, and - for the standard
# input.  A stamp beside an image holds it, so that the image is made again
# when what it was made of has changed.
hash_of()
{
	cat "$@" | sha256sum | cut -d ' ' -f 1
}

# Installed versions of packages, for a stamp.
versions_of()
{
	dpkg-query -W -f '${Package} ${Version}\n' "$@" 2>/dev/null || true
}

# make_ext4 DIR OUT SIZE [MKE2FS OPTION...]: an ext4 file system that holds
# DIR, everything owned by root.  SIZE as truncate takes it.  mke2fs takes the
# owners of files as it sees them: an ordinary user's files are seen as root's
# inside a user namespace; where there is none, they stay the user's, which
# only looks odd in a system where everything runs as root.
make_ext4()
{
	local dir=$1 out=$2 size=$3 as_root=()

	shift 3
	need mke2fs
	if [ "$(id -u)" != 0 ] && unshare -r true 2>/dev/null; then
		as_root=(unshare -r)
	fi
	rm -f "$out"
	truncate -s "$size" "$out"
	"${as_root[@]}" mke2fs -q -F -t ext4 -m 0 -I 256 -E root_owner=0:0 \
		-d "$dir" "$out" "$@"
}
