/* SPDX-License-Identifier: GPL-2.0-only */
/* GSI routes, irqfds and the pins of the interrupt controllers. */
#include <lkvm/irq.h>

#include <errno.h>
#include <linux/kvm.h>
#include <stdlib.h>

#include <lkvm/vm.h>

#define PIC_PINS_EACH 8
#define IRQ_SOURCES 64 /* bits of struct irq.pin[] */

/* Entries for the pins: all at the IOAPIC, the first ones at a PIC as well. */
#define NR_PIN_ROUTES (IRQ_PINS + IRQ_PIC_PINS)

static int grow(struct irq *irq, unsigned int need)
{
	struct kvm_irq_routing *table;
	unsigned int max = irq->table_max ? irq->table_max : 2 * NR_PIN_ROUTES;

	if (need <= irq->table_max)
		return 0;
	while (max < need)
		max *= 2;
	table = realloc(irq->table, sizeof(*table) + max * sizeof(table->entries[0]));
	if (!table)
		return -ENOMEM;
	if (!irq->table) {
		table->nr = 0;
		table->flags = 0;
	}
	irq->table = table;
	irq->table_max = max;
	return 0;
}

/* KVM takes the whole table at once, or refuses it and keeps the old one. */
static int set_routing(struct irq *irq)
{
	irq->updates++;
	return vm__ioctl(irq->vm, irq->vm->vm_fd, KVM_SET_GSI_ROUTING, irq->table);
}

static void add_pin(struct irq *irq, unsigned int gsi, unsigned int chip, unsigned int pin)
{
	struct kvm_irq_routing_entry *e = &irq->table->entries[irq->table->nr++];

	*e = (struct kvm_irq_routing_entry) {
		.gsi = gsi,
		.type = KVM_IRQ_ROUTING_IRQCHIP,
		.u.irqchip = {.irqchip = chip, .pin = pin},
	};
}

/*
 * The same as KVM's own default table, which a first KVM_SET_GSI_ROUTING
 * replaces.  GSI 0 is IOAPIC pin 0: no MADT override moves the timer to pin 2.
 */
static void add_pins(struct irq *irq)
{
	unsigned int gsi;

	for (gsi = 0; gsi < IRQ_PINS; gsi++) {
		add_pin(irq, gsi, KVM_IRQCHIP_IOAPIC, gsi);
		if (gsi < IRQ_PIC_PINS)
			add_pin(irq, gsi,
				gsi < PIC_PINS_EACH ? KVM_IRQCHIP_PIC_MASTER
						    : KVM_IRQCHIP_PIC_SLAVE,
				gsi % PIC_PINS_EACH);
	}
}

int irq__init(struct irq *irq, struct vm *vm)
{
	int ret;

	*irq = (struct irq) {.vm = vm, .next_gsi = IRQ_PINS};
	ret = grow(irq, NR_PIN_ROUTES);
	if (ret)
		return ret;
	add_pins(irq);
	ret = set_routing(irq);
	if (ret < 0) {
		free(irq->table);
		irq->table = NULL;
		return ret;
	}
	pthread_mutex_init(&irq->lock, NULL);
	pthread_mutex_init(&irq->pin_lock, NULL);
	return 0;
}

void irq__fini(struct irq *irq)
{
	pthread_mutex_destroy(&irq->pin_lock);
	pthread_mutex_destroy(&irq->lock);
	free(irq->table);
	irq->table = NULL;
}

int irq__msi_alloc(struct irq *irq)
{
	/* All of them routed must still fit into KVM's table. */
	if (irq->next_gsi - IRQ_PINS >= IRQ_MAX_ROUTES - NR_PIN_ROUTES)
		return -ENOSPC;
	return (int)irq->next_gsi++;
}

static struct kvm_irq_routing_entry *find_msi(struct irq *irq, unsigned int gsi)
{
	unsigned int i;

	for (i = NR_PIN_ROUTES; i < irq->table->nr; i++) {
		if (irq->table->entries[i].gsi == gsi)
			return &irq->table->entries[i];
	}
	return NULL;
}

static bool same_message(const struct kvm_irq_routing_entry *e, uint64_t addr, uint32_t data)
{
	return e->u.msi.address_lo == (uint32_t)addr && e->u.msi.address_hi == addr >> 32 &&
	       e->u.msi.data == data;
}

static int update_route(struct irq *irq, unsigned int gsi, uint64_t addr, uint32_t data)
{
	struct kvm_irq_routing_entry *e, old;
	uint32_t old_nr = irq->table->nr;
	int ret;

	e = find_msi(irq, gsi);
	if (e && same_message(e, addr, data))
		return 0;
	if (!e) {
		ret = grow(irq, old_nr + 1);
		if (ret)
			return ret;
		e = &irq->table->entries[irq->table->nr++];
		*e = (struct kvm_irq_routing_entry) {.gsi = gsi, .type = KVM_IRQ_ROUTING_MSI};
	}
	old = *e;
	e->u.msi.address_lo = (uint32_t)addr;
	e->u.msi.address_hi = addr >> 32;
	e->u.msi.data = data;
	ret = set_routing(irq);
	if (ret < 0) {
		/* The guest chose the message: a bad one must not spoil later updates. */
		*e = old;
		irq->table->nr = old_nr;
		return ret;
	}
	return 0;
}

int irq__msi_route(struct irq *irq, int gsi, uint64_t addr, uint32_t data)
{
	int ret;

	if (gsi < IRQ_PINS || (unsigned int)gsi >= irq->next_gsi)
		return -EINVAL;
	pthread_mutex_lock(&irq->lock);
	ret = update_route(irq, (unsigned int)gsi, addr, data);
	pthread_mutex_unlock(&irq->lock);
	return ret;
}

int irq__irqfd(struct irq *irq, int gsi, int fd, bool on)
{
	struct kvm_irqfd req = {
		.fd = (uint32_t)fd,
		.gsi = (uint32_t)gsi,
		.flags = on ? 0 : KVM_IRQFD_FLAG_DEASSIGN,
	};
	int ret;

	if (gsi < 0 || (unsigned int)gsi >= irq->next_gsi)
		return -EINVAL;
	ret = vm__ioctl(irq->vm, irq->vm->vm_fd, KVM_IRQFD, &req);
	return ret < 0 ? ret : 0;
}

int irq__pin_join(struct irq *irq, unsigned int pin)
{
	if (pin >= IRQ_PINS)
		return -EINVAL;
	if (irq->nr_sources[pin] >= IRQ_SOURCES)
		return -ENOSPC;
	return (int)irq->nr_sources[pin]++;
}

/* pin_lock held.  Fails only where there is no irqchip, and there is one. */
static void set_line(struct irq *irq, unsigned int pin, bool level)
{
	struct kvm_irq_level line = {.irq = pin, .level = level};

	vm__ioctl(irq->vm, irq->vm->vm_fd, KVM_IRQ_LINE, &line);
}

void irq__pin_set(struct irq *irq, unsigned int pin, int source, bool level)
{
	uint64_t old, bit;

	if (pin >= IRQ_PINS || source < 0 || source >= IRQ_SOURCES)
		return;
	bit = 1ULL << source;
	pthread_mutex_lock(&irq->pin_lock);
	old = irq->pin[pin];
	irq->pin[pin] = level ? old | bit : old & ~bit;
	/* Under the lock, so that KVM sees the levels in the order of the bits. */
	if (!old != !irq->pin[pin])
		set_line(irq, pin, level);
	pthread_mutex_unlock(&irq->pin_lock);
}

void irq__pin_pulse(struct irq *irq, unsigned int pin)
{
	if (pin >= IRQ_PINS)
		return;
	/* Two pulses that interleave as up, up, down, down would be one edge. */
	pthread_mutex_lock(&irq->pin_lock);
	set_line(irq, pin, true);
	set_line(irq, pin, false);
	pthread_mutex_unlock(&irq->pin_lock);
}
