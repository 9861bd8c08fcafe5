/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_MSIX_H
#define LKVM_MSIX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/pci.h>

/*
 * MSI-X (PCI 3.0, 6.8.2): table and PBA in one BAR, each vector a GSI route
 * and an irqfd.  Signalling an unmasked vector is one write to its eventfd and
 * takes no lock; a masked one sets its pending bit, which is replayed at unmask.
 *
 * States of a vector, changed by atomic operations so that neither an
 * interrupt nor a pending bit is lost between an I/O thread that signals and a
 * vCPU that masks or unmasks (the argument stands above the code).
 */
#define MSIX_MAX_VECTORS 64

struct msix_vector {
	atomic_bool masked; /* effective: own mask bit, or the function is blocked */
	int fd; /* irqfd */
	int gsi;
	bool routed; /* the irqfd is attached; msix lock */
	uint32_t addr_lo, addr_hi, data, ctrl; /* the table entry; msix lock */
};

struct msix {
	pthread_mutex_t lock; /* table and control; vCPU threads only */
	struct pci_dev *dev;
	unsigned int nr;
	int cap; /* offset of the capability */
	atomic_bool enabled;
	bool blocked; /* MSI-X off, function mask, or bus mastering off: a message is a bus write */
	atomic_ulong pending; /* the PBA, one bit a vector */
	struct msix_vector vector[MSIX_MAX_VECTORS];
};

/* Bytes of BAR that a table of @nr vectors and its PBA take (a power of two >= 4096). */
uint64_t msix__bar_size(unsigned int nr);

/*
 * Main thread, before pci__add() but with dev->bus set: adds the capability and
 * BAR @bar, reserves a GSI a vector.  0 or -errno; nothing to undo on failure.
 */
int msix__init(struct msix *msix, struct pci_dev *dev, unsigned int nr, unsigned int bar);
void msix__fini(struct msix *msix);

/* From the device's config_written(): message control or PCI_COMMAND may have changed. */
void msix__config_written(struct msix *msix, unsigned int off, unsigned int len);

static inline bool msix__enabled(struct msix *msix)
{
	return atomic_load_explicit(&msix->enabled, memory_order_acquire);
}

/*
 * Any thread, no lock.  Injects vector @nr or sets its pending bit.
 * @nr >= msix->nr: nothing.  True where an eventfd was written.
 */
bool msix__signal(struct msix *msix, unsigned int nr);

/* Forget pending bits: the device was reset and no thread signals.  vCPU thread, no lock. */
void msix__forget(struct msix *msix);

#endif
