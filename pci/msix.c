// SPDX-License-Identifier: GPL-2.0-only
/*
 * MSI-X: PCI Local Bus 3.0, 6.8.2.  Table and pending bits in one BAR.
 *
 * Why no interrupt gets lost and none comes twice
 *
 * Two words are shared without a lock: masked of the vector and its bit in
 * pending.  I/O threads signal, vCPU threads mask and unmask (these one at a
 * time, under msix->lock).  All operations below are sequentially consistent.
 *
 *	signal:	S1 masked?  no: write the eventfd, done
 *		S2 set the pending bit
 *		S3 still masked?  yes: done
 *		S4 take the pending bit; had it: write the eventfd
 *	unmask:	U1 route up to date
 *		U2 masked = false
 *		U3 take the pending bit; had it: write the eventfd
 *
 * Lost would be a bit that stays set while masked is false.  S2 comes before
 * S3 and U2 before U3.  In the one order of all four either S3 sees what U2
 * wrote, or S3 comes before U2, hence S2 before U3, and U3 sees the bit.  So
 * one of the two takes it.  Twice would need both to take it, and taking is one
 * atomic fetch-and-clear: the bit is there for one of them.  A vector masked
 * again between S3 and S4 gets an interrupt that belongs to the unmasked time
 * before.
 *
 * Function mask, enable and bus mastering only change what masked means: each
 * vector is masked while the function is blocked, and unmasked by the steps
 * above when it no longer is.
 *
 * A thread that has passed S1 may write the eventfd a moment after a vCPU has
 * masked the vector: like a message already under way on the bus, except that
 * reading the table back does not push it ahead.  It is delivered with the
 * message that is routed at that moment.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "private.h"
#include <lkvm/msix.h>

#define PBA_OFFSET 0x800U
#define MSIX_BAR_SIZE 0x1000U
#define ENTRY_DWORDS (PCI_MSIX_ENTRY_SIZE / 4)

_Static_assert(MSIX_MAX_VECTORS *PCI_MSIX_ENTRY_SIZE <= PBA_OFFSET, "table runs into the PBA");
_Static_assert(MSIX_MAX_VECTORS <= 8 * sizeof(unsigned long), "one word of pending bits");

uint64_t msix__bar_size(unsigned int nr)
{
	(void)nr; /* MSIX_MAX_VECTORS of them fit into the least size of a BAR */
	return MSIX_BAR_SIZE;
}

static bool fire(struct msix_vector *vector)
{
	uint64_t one = 1;

	return write(vector->fd, &one, sizeof(one)) == sizeof(one);
}

/* S4, U3: the pending bit belongs to whoever clears it. */
static bool take_pending(struct msix *msix, unsigned int nr)
{
	unsigned long bit = 1UL << nr;

	return (atomic_fetch_and(&msix->pending, ~bit) & bit) && fire(&msix->vector[nr]);
}

bool msix__signal(struct msix *msix, unsigned int nr)
{
	struct msix_vector *vector;

	if (nr >= msix->nr)
		return false;
	vector = &msix->vector[nr];
	if (!atomic_load(&vector->masked))
		return fire(vector);
	atomic_fetch_or(&msix->pending, 1UL << nr);
	if (atomic_load(&vector->masked))
		return false;
	return take_pending(msix, nr);
}

void msix__forget(struct msix *msix)
{
	atomic_store(&msix->pending, 0);
}

/* U1.  KVM is called where the message changed, and once for the irqfd. */
static int route(struct msix *msix, struct msix_vector *vector)
{
	struct irq *irq = &msix->dev->bus->vm->irq;
	uint64_t addr = (uint64_t)vector->addr_hi << 32 | vector->addr_lo;
	int ret;

	ret = irq__msi_route(irq, vector->gsi, addr, vector->data);
	if (ret || vector->routed)
		return ret;
	ret = irq__irqfd(irq, vector->gsi, vector->fd, true);
	vector->routed = !ret;
	return ret;
}

/* msix->lock held.  A message that KVM does not take leaves the vector masked. */
static void update(struct msix *msix, unsigned int nr)
{
	struct msix_vector *vector = &msix->vector[nr];
	bool masked = msix->blocked || (vector->ctrl & PCI_MSIX_ENTRY_CTRL_MASKBIT);

	if (masked || route(msix, vector)) {
		atomic_store(&vector->masked, true);
		return;
	}
	atomic_store(&vector->masked, false);
	take_pending(msix, nr);
}

void msix__config_written(struct msix *msix, unsigned int off, unsigned int len)
{
	unsigned int flags = msix->cap + PCI_MSIX_FLAGS;
	bool enabled, blocked;
	uint16_t control;

	if (!msix->nr)
		return;
	if ((off >= flags + 2 || off + len <= flags) &&
	    (off >= PCI_COMMAND + 2 || off + len <= PCI_COMMAND))
		return;
	control = pci_dev__get16(msix->dev, flags);
	enabled = control & PCI_MSIX_FLAGS_ENABLE;
	blocked = !enabled || (control & PCI_MSIX_FLAGS_MASKALL) || !pci_dev__bus_master(msix->dev);
	pthread_mutex_lock(&msix->lock);
	atomic_store(&msix->enabled, enabled);
	if (blocked != msix->blocked) {
		msix->blocked = blocked;
		for (unsigned int i = 0; i < msix->nr; i++)
			update(msix, i);
	}
	pthread_mutex_unlock(&msix->lock);
}

static uint32_t *entry_reg(struct msix_vector *vector, unsigned int dword)
{
	uint32_t *const reg[ENTRY_DWORDS] = {
		&vector->addr_lo,
		&vector->addr_hi,
		&vector->data,
		&vector->ctrl,
	};

	return reg[dword];
}

/* Dword @index of the BAR.  Below the PBA all that is not table reads zero. */
static uint32_t read_dword(struct msix *msix, unsigned int index)
{
	unsigned int nr = index / ENTRY_DWORDS;
	unsigned int pba = PBA_OFFSET / 4;

	if (nr < msix->nr)
		return *entry_reg(&msix->vector[nr], index % ENTRY_DWORDS);
	if (index == pba)
		return atomic_load(&msix->pending);
	if (index == pba + 1)
		return (uint64_t)atomic_load(&msix->pending) >> 32;
	return 0;
}

/* 6.8.2: software shall use aligned dword and qword accesses; others are undefined. */
static bool legal(uint64_t off, unsigned int len)
{
	return (len == 4 || len == 8) && !(off % len);
}

static void bar_read(void *opaque, uint64_t off, void *data, unsigned int len)
{
	struct msix *msix = opaque;
	uint32_t val[2] = {0, 0};

	if (!legal(off, len)) {
		memset(data, 0xff, len);
		return;
	}
	pthread_mutex_lock(&msix->lock);
	for (unsigned int i = 0; i < len / 4; i++)
		val[i] = htole32(read_dword(msix, off / 4 + i));
	pthread_mutex_unlock(&msix->lock);
	memcpy(data, val, len);
}

static void bar_write(void *opaque, uint64_t off, const void *data, unsigned int len)
{
	unsigned int nr = off / PCI_MSIX_ENTRY_SIZE, dword = off / 4 % ENTRY_DWORDS;
	struct msix *msix = opaque;
	uint32_t val[2];

	if (!legal(off, len) || nr >= msix->nr)
		return;
	memcpy(val, data, len);
	pthread_mutex_lock(&msix->lock);
	for (unsigned int i = 0; i < len / 4; i++)
		*entry_reg(&msix->vector[nr], dword + i) = le32toh(val[i]);
	msix->vector[nr].addr_lo &= ~3U; /* 6.8.2.4: a message is a dword */
	msix->vector[nr].ctrl &= PCI_MSIX_ENTRY_CTRL_MASKBIT; /* the rest is reserved */
	update(msix, nr);
	pthread_mutex_unlock(&msix->lock);
}

static const struct bus_ops msix_bar_ops = {
	.read = bar_read,
	.write = bar_write,
};

static int add_vectors(struct msix *msix, unsigned int nr)
{
	for (; msix->nr < nr; msix->nr++) {
		struct msix_vector *vector = &msix->vector[msix->nr];

		atomic_init(&vector->masked, true);
		vector->ctrl = PCI_MSIX_ENTRY_CTRL_MASKBIT;
		vector->gsi = irq__msi_alloc(&msix->dev->bus->vm->irq);
		if (vector->gsi < 0)
			return vector->gsi;
		vector->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (vector->fd < 0)
			return -errno;
	}
	return 0;
}

static int add_capability(struct msix *msix, unsigned int nr, unsigned int bar)
{
	uint8_t cap[PCI_CAP_MSIX_SIZEOF] = {[PCI_CAP_LIST_ID] = PCI_CAP_ID_MSIX};
	struct pci_dev *dev = msix->dev;
	int off = pci_dev__add_cap(dev, cap, sizeof(cap));

	if (off < 0)
		return off;
	msix->cap = off;
	pci_config__set16(dev, off + PCI_MSIX_FLAGS, nr - 1);
	pci_config__set32(dev, off + PCI_MSIX_TABLE, bar);
	pci_config__set32(dev, off + PCI_MSIX_PBA, PBA_OFFSET | bar);
	dev->wmask[off + PCI_MSIX_FLAGS + 1] =
		(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL) >> 8;
	return 0;
}

int msix__init(struct msix *msix, struct pci_dev *dev, unsigned int nr, unsigned int bar)
{
	int ret;

	memset(msix, 0, sizeof(*msix));
	msix->dev = dev;
	msix->blocked = true;
	if (!nr || nr > MSIX_MAX_VECTORS)
		return -EINVAL;
	ret = -pthread_mutex_init(&msix->lock, NULL);
	if (ret)
		return ret;
	ret = pci_dev__add_bar(dev, bar, msix__bar_size(nr), true, &msix_bar_ops, msix);
	if (!ret)
		ret = add_capability(msix, nr, bar);
	if (!ret)
		ret = add_vectors(msix, nr);
	if (ret)
		msix__fini(msix);
	return ret;
}

void msix__fini(struct msix *msix)
{
	for (unsigned int i = 0; i < msix->nr; i++) {
		struct msix_vector *vector = &msix->vector[i];

		if (vector->routed)
			irq__irqfd(&msix->dev->bus->vm->irq, vector->gsi, vector->fd, false);
		close(vector->fd);
	}
	msix->nr = 0;
	pthread_mutex_destroy(&msix->lock);
}
