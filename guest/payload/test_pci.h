/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_TEST_PCI_H
#define PAYLOAD_TEST_PCI_H

#include "pci.h"
#include "verdict.h"

/* Bridge and two devices in full, of the others the BARs: several thousand accesses each. */
#define FULL_SLOTS 2

/* What the walk over all functions has found so far (test=pci). */
struct pci_seen {
	uint64_t ecam; /* 0: none, then CF8 alone is tested */
	unsigned int functions;
	struct pci_bar bar[64];
	unsigned int nr_bars;
};

/* test_config.c; for pci__walk(), @arg: struct pci_seen */
bool config__check_reads(pci_fn_t fn, void *arg);
bool config__check_writes(pci_fn_t fn, void *arg);
void config__check_rest(const struct pci_seen *seen);

/* test_caps.c; likewise */
bool caps__check(pci_fn_t fn, void *arg);

#endif
