/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_IRQ_H
#define LKVM_IRQ_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/err.h>

struct vm;
struct kvm_irq_routing;

/*
 * Interrupt routing.  GSIs 0 to 23 are the pins of the IOAPIC (and 0 to 15 of
 * the PICs), one to one as KVM's own default has it; MSI routes are numbered
 * from 24 up.  Nothing here is on the path of an MSI-X interrupt: that is one
 * write to an irqfd.
 */
#define IRQ_PINS 24
#define IRQ_PIC_PINS 16
#define IRQ_MAX_ROUTES 4096 /* KVM_MAX_IRQ_ROUTES, which is not in the UAPI */

struct irq {
	pthread_mutex_t lock; /* route table; held across KVM_SET_GSI_ROUTING, vCPU threads */
	pthread_mutex_t pin_lock; /* pins; held across KVM_IRQ_LINE, vCPU and I/O threads (INTx) */
	struct vm *vm;
	struct kvm_irq_routing *table; /* what KVM has now, owned */
	unsigned int table_max; /* entries that fit into table */
	unsigned int next_gsi; /* constant once the vCPUs run */
	unsigned long updates; /* calls of KVM_SET_GSI_ROUTING */
	uint64_t pin[IRQ_PINS]; /* one bit per source that asserts the pin */
	unsigned int nr_sources[IRQ_PINS];
};

/* After the irqchip exists.  Installs the PIC and IOAPIC routes.  0 or -errno. */
int irq__init(struct irq *irq, struct vm *vm);
void irq__fini(struct irq *irq);

/* Reserve a GSI for one MSI-X vector; it has no route yet.  >= 24 or -ENOSPC.  Main thread. */
int irq__msi_alloc(struct irq *irq);

/*
 * Route @gsi to the message.  Calls KVM only where something changed.
 * Any thread.  0 or -errno: -EINVAL for a GSI that irq__msi_alloc() did not
 * give out; where KVM refuses the message the old route stays.
 */
int irq__msi_route(struct irq *irq, int gsi, uint64_t addr, uint32_t data);

/* KVM_IRQFD: a write to eventfd @fd injects @gsi; or take that back.  Any thread. */
int irq__irqfd(struct irq *irq, int gsi, int fd, bool on);

/*
 * Join a level-triggered pin as one more source.  Source number, -ENOSPC (64
 * have joined) or -EINVAL (no such pin).  Main thread.
 */
int irq__pin_join(struct irq *irq, unsigned int pin);

/*
 * Wired-or: the pin is asserted while any source asserts it.  Any thread but
 * costs an ioctl under a lock where the level of the pin changes: for INTx.
 */
void irq__pin_set(struct irq *irq, unsigned int pin, int source, bool level);

/* One pulse on an edge-triggered pin (the 16550) that nobody has joined.  Any thread. */
void irq__pin_pulse(struct irq *irq, unsigned int pin);

#endif
