/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FAKE_KVM_H
#define FAKE_KVM_H

/*
 * A VM without KVM: the calls of irq.h and vm.h that the PCI code makes leave
 * their traces here.  Include once, in the test's only source file.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* a member of struct virtio_transport_ops */

#include <lkvm/bus.h>
#include <lkvm/vm.h>

#define FAKE_GSIS 128
#define FAKE_EVENTS 64

struct fake_vm {
	struct vm vm; /* first: fake_of() counts on it */
	unsigned int next_gsi;
	struct {
		uint64_t addr;
		uint32_t data;
		unsigned int calls;
		int fd; /* attached irqfd, -1: none */
	} gsi[FAKE_GSIS];
	int route_error; /* what irq__msi_route() returns */
	bool pin[IRQ_PINS];
	unsigned int pin_changes;
	struct {
		uint64_t addr;
		int fd;
	} event[FAKE_EVENTS]; /* addr 0: free */
	unsigned int event_calls;
};

static inline struct fake_vm *fake_of(struct irq *irq)
{
	return (struct fake_vm *)((char *)irq - offsetof(struct vm, irq));
}

static inline void fake_vm__init(struct fake_vm *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->next_gsi = IRQ_PINS;
	for (unsigned int i = 0; i < FAKE_GSIS; i++)
		fake->gsi[i].fd = -1;
	assert_int_equal(bus__init(&fake->vm.pio), 0);
	assert_int_equal(bus__init(&fake->vm.mmio), 0);
}

static inline void fake_vm__fini(struct fake_vm *fake)
{
	bus__fini(&fake->vm.mmio);
	bus__fini(&fake->vm.pio);
}

/* The eventfd at @addr, -1: none. */
static inline int fake_event_at(struct fake_vm *fake, uint64_t addr)
{
	for (unsigned int i = 0; i < FAKE_EVENTS; i++) {
		if (fake->event[i].addr == addr)
			return fake->event[i].fd;
	}
	return -1;
}

static inline unsigned int fake_events(struct fake_vm *fake)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < FAKE_EVENTS; i++)
		nr += !!fake->event[i].addr;
	return nr;
}

int irq__msi_alloc(struct irq *irq)
{
	struct fake_vm *fake = fake_of(irq);

	return fake->next_gsi < FAKE_GSIS ? (int)fake->next_gsi++ : -ENOSPC;
}

int irq__msi_route(struct irq *irq, int gsi, uint64_t addr, uint32_t data)
{
	struct fake_vm *fake = fake_of(irq);

	if (fake->route_error)
		return fake->route_error;
	fake->gsi[gsi].addr = addr;
	fake->gsi[gsi].data = data;
	fake->gsi[gsi].calls++;
	return 0;
}

int irq__irqfd(struct irq *irq, int gsi, int fd, bool on)
{
	fake_of(irq)->gsi[gsi].fd = on ? fd : -1;
	return 0;
}

int irq__pin_join(struct irq *irq, unsigned int pin)
{
	return irq->nr_sources[pin]++;
}

void irq__pin_set(struct irq *irq, unsigned int pin, int source, bool level)
{
	struct fake_vm *fake = fake_of(irq);

	if (level)
		irq->pin[pin] |= 1ULL << source;
	else
		irq->pin[pin] &= ~(1ULL << source);
	fake->pin[pin] = irq->pin[pin];
	fake->pin_changes++;
}

/* As KVM_IOEVENTFD: one eventfd an address, and only the one that is there is taken back. */
int vm__ioeventfd(struct vm *vm, uint64_t addr, int fd, bool on)
{
	struct fake_vm *fake = (struct fake_vm *)vm;

	fake->event_calls++;
	for (unsigned int i = 0; i < FAKE_EVENTS; i++) {
		if (fake->event[i].addr != addr)
			continue;
		if (on)
			return -EEXIST;
		if (fake->event[i].fd != fd)
			continue;
		fake->event[i].addr = 0;
		return 0;
	}
	for (unsigned int i = 0; on && i < FAKE_EVENTS; i++) {
		if (fake->event[i].addr)
			continue;
		fake->event[i].addr = addr;
		fake->event[i].fd = fd;
		return 0;
	}
	return on ? -ENOSPC : -ENOENT;
}

/* Accesses as a guest makes them. */
static inline uint64_t mmio_read(struct fake_vm *fake, uint64_t addr, unsigned int len)
{
	uint64_t val = 0;

	bus__read(&fake->vm.mmio, addr, &val, len);
	return val;
}

static inline void mmio_write(struct fake_vm *fake, uint64_t addr, uint64_t val, unsigned int len)
{
	bus__write(&fake->vm.mmio, addr, &val, len);
}

static inline uint32_t pio_read(struct fake_vm *fake, uint16_t port, unsigned int len)
{
	uint32_t val = 0;

	bus__read(&fake->vm.pio, port, &val, len);
	return val;
}

static inline void pio_write(struct fake_vm *fake, uint16_t port, uint32_t val, unsigned int len)
{
	bus__write(&fake->vm.pio, port, &val, len);
}

#define FAKE_ECAM 0xe0000000ULL
#define FAKE_BARS 0xc0000000ULL
#define FAKE_BARS_SIZE 0x20000000ULL

static inline uint64_t ecam(unsigned int slot, unsigned int fn, unsigned int off)
{
	return FAKE_ECAM + (slot << 15) + (fn << 12) + off;
}

static inline uint32_t cfg_read(struct fake_vm *fake, unsigned int slot, unsigned int off,
				unsigned int len)
{
	return mmio_read(fake, ecam(slot, 0, off), len);
}

static inline void cfg_write(struct fake_vm *fake, unsigned int slot, unsigned int off,
			     uint32_t val, unsigned int len)
{
	mmio_write(fake, ecam(slot, 0, off), val, len);
}

#endif
