/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_MACHINE_H
#define LKVM_CMD_MACHINE_H

#include <stdbool.h>

#include <lkvm/boot.h>
#include <lkvm/disk.h>
#include <lkvm/pci.h>
#include <lkvm/uart.h>
#include <lkvm/virtio_blk.h>
#include <lkvm/virtio_pci.h>
#include <lkvm/virtio_rng.h>
#include <lkvm/vm.h>
#include <lkvm/x86_map.h>
#include <lkvm/x86_platform.h>

#include "options.h"
#include "sandbox.h"

struct machine_disk {
	struct disk disk;
	struct virtio_blk blk;
	struct virtio_pci pci;
	bool opened, has_blk, has_pci; /* how far start-up came */
};

/*
 * Everything that one VM consists of.  The one place that knows every part.
 * Built up by a list of steps and taken down by the same list backwards.
 */
struct machine {
	const struct run_options *opts;
	char kernel_path[4096];
	char cmdline[X86_CMDLINE_MAX];

	/*
	 * The caller's, before machine__up(), or NULL: all that the command line names
	 * has been found good, and the sandbox is not closed yet.
	 */
	void (*ready)(void *arg);
	void *ready_arg;

	struct vm vm;
	struct sandbox sandbox; /* term and file are the caller's, before machine__up() */
	struct x86_map map;
	struct kernel kernel;
	struct boot_plan plan;
	int initrd_fd; /* -1: none */
	uint64_t initrd_size;

	struct uart uart;
	struct x86_platform platform;
	struct pci_bus pci;
	struct machine_disk disk[OPTIONS_MAX_DISKS];
	struct virtio_rng rng;
	struct virtio_pci rng_pci;
	bool has_rng;
	atomic_int spin_slots; /* CPUs on which I/O threads may spin */

	unsigned int steps_done;
};

/*
 * Bring the machine up to the point where only the vCPU threads are missing.
 * @tl: as main() began it.  On failure everything is taken down again.
 * Main thread.  0 or -errno with one line in @err.
 */
int machine__up(struct machine *m, const struct run_options *opts, const struct timeline *tl,
		struct lk_err *err);

/*
 * End the I/O threads, so that what they counted can be read.  vCPU threads have
 * ended.  machine__down() is still due.
 */
void machine__stop_io(struct machine *m);

/* The same list backwards.  vCPU threads have ended. */
void machine__down(struct machine *m);

#endif
