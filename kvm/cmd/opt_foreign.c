// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options of kvmtool that lkvm does not have.  Scripts written for kvmtool get
 * one line that says so and what to do instead, not "unrecognized option".
 */
#include <string.h>

#include "options.h"

static const struct {
	const char *name;
	const char *why;
} foreign[] = {
	{"9p", "there is no 9p; put the files into a disk image"},
	{"balloon", "there is no balloon; choose the memory with -m"},
	{"debug-ioport", "there is no port tracing; use perf trace -e kvm:kvm_pio"},
	{"debug-iodelay", "there is no I/O delay"},
	{"debug-mmio", "there is no MMIO tracing; use perf trace -e kvm:kvm_mmio"},
	{"debug-nohostfs", "there is no 9p host file system"},
	{"debug-single-step", "there is no single stepping"},
	{"dev", "there is no such device model; leave it out"},
	{"firmware", "there is no firmware; give a kernel with -k"},
	{"flash", "there is no flash; give a kernel with -k"},
	{"force-pci", "PCI is always used; leave it out"},
	{"gtk", "there is no display; the console is serial"},
	{"hugetlbfs", "there is no hugetlbfs; transparent huge pages are used by themselves"},
	{"no-dhcp", "there is no network; leave it out"},
	{"no-pvtime", "steal time is always offered; leave it out"},
	{"sdl", "there is no display; the console is serial"},
	{"shmem", "there is no shared memory device"},
	{"tty", "there is one console, on stdin and stdout; leave it out"},
	{"vfio-pci", "there is no device assignment"},
	{"vidmode", "there is no display; the console is serial"},
	{"virtio-transport", "virtio always runs over PCI; leave it out"},
	{"vnc", "there is no display; the console is serial"},
	{"vsock", "there is no vsock"},
};

const char *options__foreign(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (!strcmp(foreign[i].name, name))
			return foreign[i].why;
	return NULL;
}
