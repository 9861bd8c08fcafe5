# shellcheck shell=sh
#
# What the guest side tests share.  Each of them takes arguments of the form
# name=value, prints lines that begin with its own name, and returns 0 where
# the thing that it tries worked.

# opt NAME DEFAULT ARGUMENT...: prints the value of NAME= among the arguments.
opt()
{
	name=$1
	found=$2
	shift 2
	for word in "$@"; do
		case $word in
		"$name="*) found=${word#*=} ;;
		esac
	done
	echo "$found"
}

# What was written to the console is out, as far as its driver is concerned:
# stty changes a terminal only after its output has drained.
drain()
{
	stty -ixon </dev/console 2>/dev/null
}

# Nothing is left to be written: the machine can stop at any moment.
quiesce()
{
	sync
	mount -o remount,ro / 2>/dev/null
	drain
}

# cpu_list: the numbers of the CPUs that are online.
cpu_list()
{
	sed -n 's/^processor.*: *//p' /proc/cpuinfo
}

# virtio_interrupts: how many the virtio devices have caused so far.
virtio_interrupts()
{
	awk '/virtio/ {
		for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++)
			sum += $i
	}
	END { print sum + 0 }' /proc/interrupts
}
