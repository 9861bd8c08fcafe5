/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_DISKS_H
#define PAYLOAD_DISKS_H

#include "blk.h"

/*
 * Two disks for the tests of the transport: [0] is maltreated, [1] has to go on
 * whatever happens.  Sector N of their images begins with "sector N ".
 */
struct disks {
	struct blk blk[2];
	char *buf; /* DISKS_BUF bytes, a page boundary in front */
};
#define DISKS_BUF 65536U

/* Both set up, MSI-X off.  False: there are fewer than two. */
bool disks__open(struct disks *d);

/* Set up disk @nth once more: reset, negotiate, queue 0 in fresh memory, DRIVER_OK. */
void disks__reopen(struct disks *d, unsigned int nth);

/* One read of sector 0 of disk @nth: status, used length and content are right. */
bool disks__read_ok(struct disks *d, unsigned int nth);

/* How many of @nr reads are right. */
unsigned int disks__reads(struct disks *d, unsigned int nth, unsigned int nr);

/* Something has been used within @ms milliseconds (it stays in the ring). */
bool disks__used(struct disks *d, unsigned int nth, unsigned int ms);

/* A BAR and where it was. */
struct moving {
	pci_fn_t fn;
	unsigned int nr;
	uint64_t base, size;
};

/* The BAR with the common structure of disk @nth. */
struct moving disks__bar(const struct disks *d, unsigned int nth);
/* Write the register, high half first where told so; decoding as it is. */
void moving__write(const struct moving *m, uint64_t base, bool high_first);
void pci__decode(pci_fn_t fn, bool on); /* PCI_COMMAND_MEMORY */
/* The addresses that the driver uses for disk @nth follow its BAR from @from to @to. */
void disks__rebase(struct disks *d, unsigned int nth, uint64_t from, uint64_t to);

#endif
