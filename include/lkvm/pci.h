/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_PCI_H
#define LKVM_PCI_H

#include <linux/pci_regs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/vm.h>

/*
 * PCI Local Bus 3.0 configuration space of one bus (bus 0), function 0 of each
 * slot, through CF8/CFC (mechanism #1) and ECAM.  Slot 0 is the host bridge.
 *
 * Lock order: pci_bus.lock, then a device's register lock (virtio_pci.lock or
 * msix.lock), then virtio_pci.isr_lock, then pci_dev.intx_lock, then irq.lock.
 * A BAR handler must therefore never take pci_bus.lock: it may be called with
 * it held (virtio's PCI configuration access window).  I/O threads take
 * isr_lock, intx_lock and irq.lock alone, and those for INTx alone; none of the
 * three is held across anything slower than KVM_IRQ_LINE.
 */
#define PCI_SLOTS 32
#define PCI_ECAM_SIZE 0x100000U /* one bus: X86_ECAM_SIZE */
#define PCI_GSI_BASE 16 /* INTA of slot s: 16 + s % 8, as in X86_GSI_PCI_BASE and _PRT */
#define PCI_GSI_COUNT 8
#define PCI_CONFIG_SIZE 256 /* no extended capabilities: ECAM reads zero above */
#define PCI_BARS 6

struct pci_dev;

struct pci_bar {
	uint64_t size; /* bytes, a power of two >= 4096; 0: no BAR here (or upper half) */
	const struct bus_ops *ops; /* accesses to the BAR; dev argument is pci_dev->bar[n].opaque */
	void *opaque;
	bool is64; /* takes the next BAR register too */
	bool prefetch;
	/* where it answers now; bus lock of struct pci_bus */
	bool mapped;
	uint64_t base;
};

struct pci_dev_ops {
	/*
	 * BAR @bar now answers at @base (mapped), or answers no longer.  Also for
	 * ioeventfds to follow.  Called with the config lock held, in a vCPU
	 * thread or (at start) the main thread.
	 */
	void (*bar_moved)(struct pci_dev *dev, unsigned int bar, uint64_t base, bool mapped);
	/* After a write to config space: @off, @len of it (MSI-X control, command, ...); may be NULL. */
	void (*config_written)(struct pci_dev *dev, unsigned int off, unsigned int len);
	/* Before a read / instead of a plain store in a window (virtio PCI_CFG capability); may be NULL.
	 * True: handled.
	 */
	bool (*config_read)(struct pci_dev *dev, unsigned int off, void *data, unsigned int len);
	bool (*config_write)(struct pci_dev *dev, unsigned int off, const void *data,
			     unsigned int len);
};

struct pci_dev {
	struct pci_bus *bus;
	unsigned int slot;
	const struct pci_dev_ops *ops; /* NULL: plain config space */
	uint8_t config[PCI_CONFIG_SIZE]; /* little endian */
	uint8_t wmask[PCI_CONFIG_SIZE]; /* bits that the guest can write */
	uint8_t w1cmask[PCI_CONFIG_SIZE]; /* bits cleared by writing one */
	struct pci_bar bar[PCI_BARS];
	unsigned int cap_end; /* first free byte behind the capabilities */
	unsigned int cap_last; /* offset of the last capability, 0: none */
	int pin_source; /* irq__pin_join() */
	unsigned int gsi; /* of INTA */
	atomic_uint command; /* copy of PCI_COMMAND for threads without the bus lock */
	atomic_bool intx; /* level the function asks for; written under intx_lock */
	pthread_mutex_t intx_lock; /* vCPU and I/O threads, held across irq__pin_set() */
	bool intx_out; /* level on the pin: intx and not PCI_COMMAND_INTX_DISABLE */
};

struct pci_bus {
	pthread_mutex_t
		lock; /* config space of all devices, BAR mapping; a vCPU takes it per access */
	struct vm *vm;
	struct pci_dev *slot[PCI_SLOTS];
	struct pci_dev bridge; /* slot 0 */
	uint64_t ecam; /* constant after pci__init() */
	uint32_t address; /* CF8 */
	uint64_t bar_next, bar_end; /* start-up allocation of BAR addresses */
};

/*
 * Main thread, before the vCPUs.  CF8/CFC on vm->pio (a byte access to 0xcf9
 * is not ours: the range list gives it to whoever registered it before), ECAM
 * at @ecam on vm->mmio; BARs are given addresses from [@bar_base, +@bar_size).
 */
int pci__init(struct pci_bus *bus, struct vm *vm, uint64_t ecam, uint64_t bar_base,
	      uint64_t bar_size);
void pci__fini(struct pci_bus *bus);

/*
 * The first call for a device: clears *@dev and fills in its identity, header
 * type 0.  Whoever needs dev->bus before pci__add() (msix__init()) sets it after this.
 */
void pci_dev__ident(struct pci_dev *dev, uint16_t vendor, uint16_t device, uint8_t revision,
		    uint32_t class_code /* 24 bits */, uint16_t sub_vendor, uint16_t sub_device);

void pci_dev__fini(struct pci_dev *dev); /* after pci__remove(), or never added */

/* Append a capability of @len bytes (header included, from @cap); its offset or -ENOSPC. */
int pci_dev__add_cap(struct pci_dev *dev, const void *cap, unsigned int len);

/*
 * Declare BAR @nr before pci__add().  @size: a power of two from 4 KiB to 1 GiB.
 * 0 or -EINVAL.
 */
int pci_dev__add_bar(struct pci_dev *dev, unsigned int nr, uint64_t size, bool is64,
		     const struct bus_ops *ops, void *opaque);

/*
 * Put the device into the lowest free slot, place its BARs, turn memory
 * decoding on (as firmware would), join INTA.  Slot or -ENOSPC.  Main thread.
 * The device stays the caller's and lives until all vCPU threads have ended.
 */
int pci__add(struct pci_bus *bus, struct pci_dev *dev);

/*
 * Take the device off the bus: its BARs answer no longer (bar_moved() says so),
 * INTA is low.  Main thread, the vCPUs have ended; before pci__fini().
 */
void pci__remove(struct pci_dev *dev);

/* Level of INTA, gated by PCI_COMMAND_INTX_DISABLE, mirrored in PCI_STATUS_INTERRUPT.  Any thread. */
void pci_dev__intx(struct pci_dev *dev, bool level);

/*
 * May the function write to memory on its own, MSI messages included (PCI 3.0,
 * 6.2.2)?  Any thread, no lock.
 */
static inline bool pci_dev__bus_master(struct pci_dev *dev)
{
	return atomic_load_explicit(&dev->command, memory_order_acquire) & PCI_COMMAND_MASTER;
}

/* Little-endian fields of config space, config lock held or before the vCPUs run. */
uint16_t pci_dev__get16(const struct pci_dev *dev, unsigned int off);
uint32_t pci_dev__get32(const struct pci_dev *dev, unsigned int off);

#endif
