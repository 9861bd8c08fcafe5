// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bus: how an access finds the configuration space of a function, and which
 * device sits in which slot.  PCI Local Bus 3.0, 3.2.2.3.2 (mechanism #1) and
 * PCI Express 7.2.2 (ECAM).
 */
#include <errno.h>
#include <string.h>

#include "private.h"

#define CONFIG_ADDRESS 0xcf8
#define CONFIG_DATA 0xcfc
#define CONFIG_ENABLE 0x80000000U

#define BRIDGE_VENDOR 0x1b36 /* Red Hat */
#define BRIDGE_DEVICE 0x0008 /* PCIe host bridge without registers of its own */
#define BRIDGE_CLASS 0x060000
#define BRIDGE_SUBSYS_VENDOR 0x1af4
#define BRIDGE_SUBSYS 0x1100

/* The device that answers, or NULL: one bus, function 0 alone. */
static struct pci_dev *find_dev(struct pci_bus *bus, unsigned int devfn)
{
	return devfn & 7 ? NULL : bus->slot[devfn >> 3];
}

/* Bytes of an access at @off that stay in one dword: what one config cycle can carry. */
static unsigned int cycle_len(unsigned int off, unsigned int len)
{
	unsigned int room = 4 - (off & 3);

	return len < room ? len : room;
}

static void cycle_read(struct pci_dev *dev, unsigned int off, uint8_t *data, unsigned int len)
{
	if (!dev)
		memset(data, 0xff, len);
	else if (off >= PCI_CONFIG_SIZE)
		memset(data, 0, len);
	else
		pci_config__read(dev, off, data, len);
}

/* An access of any width: dwords are split off, for ECAM takes what the CPU makes of it. */
static void config_read(struct pci_bus *bus, unsigned int devfn, unsigned int off, void *data,
			unsigned int len)
{
	uint8_t *to = data;
	struct pci_dev *dev;

	pthread_mutex_lock(&bus->lock);
	dev = find_dev(bus, devfn);
	while (len) {
		unsigned int n = cycle_len(off, len);

		cycle_read(dev, off, to, n);
		off += n;
		to += n;
		len -= n;
	}
	pthread_mutex_unlock(&bus->lock);
}

static void config_write(struct pci_bus *bus, unsigned int devfn, unsigned int off,
			 const void *data, unsigned int len)
{
	const uint8_t *from = data;
	struct pci_dev *dev;

	pthread_mutex_lock(&bus->lock);
	dev = find_dev(bus, devfn);
	while (dev && len && off < PCI_CONFIG_SIZE) {
		unsigned int n = cycle_len(off, len);

		pci_config__write(dev, off, from, n);
		off += n;
		from += n;
		len -= n;
	}
	pthread_mutex_unlock(&bus->lock);
}

/* CONFIG_ADDRESS answers to whole dwords alone; anything else is not for it. */
static void address_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct pci_bus *bus = dev;

	if (off || len != 4) {
		memset(data, 0xff, len);
		return;
	}
	pthread_mutex_lock(&bus->lock);
	memcpy(data, &bus->address, 4);
	pthread_mutex_unlock(&bus->lock);
}

static void address_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct pci_bus *bus = dev;
	uint32_t val;

	if (off || len != 4)
		return;
	memcpy(&val, data, 4);
	pthread_mutex_lock(&bus->lock);
	bus->address = val & 0x80fffffcU; /* the other bits are reserved and read zero */
	pthread_mutex_unlock(&bus->lock);
}

/* What CONFIG_ADDRESS points at; false: no config cycle, or a bus that is not there. */
static bool selected(struct pci_bus *bus, unsigned int *devfn, unsigned int *reg)
{
	uint32_t address;

	pthread_mutex_lock(&bus->lock);
	address = bus->address;
	pthread_mutex_unlock(&bus->lock);
	*devfn = (address >> 8) & 0xff;
	*reg = address & 0xfc;
	return (address & CONFIG_ENABLE) && !((address >> 16) & 0xff);
}

static void data_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	unsigned int devfn, reg;

	if (selected(dev, &devfn, &reg))
		config_read(dev, devfn, reg + off, data, len);
	else
		memset(data, 0xff, len);
}

static void data_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	unsigned int devfn, reg;

	if (selected(dev, &devfn, &reg))
		config_write(dev, devfn, reg + off, data, len);
}

/* ECAM: an unaligned access must not run from one function into the next. */
static bool ecam_ok(uint64_t off, unsigned int len)
{
	return (off & 0xfff) + len <= 0x1000;
}

static void ecam_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	if (ecam_ok(off, len))
		config_read(dev, (off >> 12) & 0xff, off & 0xfff, data, len);
	else
		memset(data, 0xff, len);
}

static void ecam_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	if (ecam_ok(off, len))
		config_write(dev, (off >> 12) & 0xff, off & 0xfff, data, len);
}

static const struct bus_ops address_ops = {
	.read = address_read,
	.write = address_write,
};

static const struct bus_ops data_ops = {
	.read = data_read,
	.write = data_write,
};

static const struct bus_ops ecam_ops = {
	.read = ecam_read,
	.write = ecam_write,
};

static int join_pin(struct pci_bus *bus, struct pci_dev *dev)
{
	dev->gsi = PCI_GSI_BASE + dev->slot % PCI_GSI_COUNT;
	dev->pin_source = irq__pin_join(&bus->vm->irq, dev->gsi);
	if (dev->pin_source < 0)
		return dev->pin_source;
	dev->config[PCI_INTERRUPT_PIN] = 1; /* INTA */
	dev->config[PCI_INTERRUPT_LINE] = dev->gsi;
	dev->wmask[PCI_INTERRUPT_LINE] = 0xff;
	return 0;
}

int pci__add(struct pci_bus *bus, struct pci_dev *dev)
{
	unsigned int slot = 0;
	int ret;

	while (slot < PCI_SLOTS && bus->slot[slot])
		slot++;
	if (slot == PCI_SLOTS)
		return -ENOSPC;
	dev->bus = bus;
	dev->slot = slot;
	ret = pci_bar__place(dev);
	if (ret)
		return ret;
	ret = join_pin(bus, dev);
	if (ret)
		return ret;
	pthread_mutex_lock(&bus->lock);
	bus->slot[slot] = dev;
	pci_config__set16(dev, PCI_COMMAND, PCI_COMMAND_MEMORY);
	pci_config__command(dev);
	pthread_mutex_unlock(&bus->lock);
	return slot;
}

void pci__remove(struct pci_dev *dev)
{
	struct pci_bus *bus = dev->bus;

	pthread_mutex_lock(&bus->lock);
	pci_config__set16(dev, PCI_COMMAND, 0);
	pci_config__command(dev);
	if (bus->slot[dev->slot] == dev)
		bus->slot[dev->slot] = NULL;
	pthread_mutex_unlock(&bus->lock);
	pci_dev__intx(dev, false);
}

static void bus_ranges(struct pci_bus *bus, struct bus_range *address, struct bus_range *data,
		       struct bus_range *ecam)
{
	*address = (struct bus_range) {CONFIG_ADDRESS, 4, &address_ops, bus};
	*data = (struct bus_range) {CONFIG_DATA, 4, &data_ops, bus};
	*ecam = (struct bus_range) {bus->ecam, PCI_ECAM_SIZE, &ecam_ops, bus};
}

static int add_ranges(struct pci_bus *bus)
{
	struct bus_range address, data, ecam;
	int ret;

	bus_ranges(bus, &address, &data, &ecam);
	ret = bus__add(&bus->vm->pio, &address);
	if (ret)
		return ret;
	ret = bus__add(&bus->vm->pio, &data);
	if (ret)
		goto err_address;
	ret = bus__add(&bus->vm->mmio, &ecam);
	if (ret)
		goto err_data;
	return 0;

err_data:
	bus__remove(&bus->vm->pio, &data);
err_address:
	bus__remove(&bus->vm->pio, &address);
	return ret;
}

int pci__init(struct pci_bus *bus, struct vm *vm, uint64_t ecam, uint64_t bar_base,
	      uint64_t bar_size)
{
	int ret;

	memset(bus, 0, sizeof(*bus));
	bus->vm = vm;
	bus->ecam = ecam;
	bus->bar_next = bar_base;
	bus->bar_end = bar_base + bar_size;
	ret = -pthread_mutex_init(&bus->lock, NULL);
	if (ret)
		return ret;
	pci_dev__ident(&bus->bridge, BRIDGE_VENDOR, BRIDGE_DEVICE, 0, BRIDGE_CLASS,
		       BRIDGE_SUBSYS_VENDOR, BRIDGE_SUBSYS);
	bus->bridge.bus = bus;
	bus->slot[0] = &bus->bridge;
	ret = add_ranges(bus);
	if (ret) {
		pci_dev__fini(&bus->bridge);
		pthread_mutex_destroy(&bus->lock);
	}
	return ret;
}

void pci__fini(struct pci_bus *bus)
{
	struct bus_range address, data, ecam;

	bus_ranges(bus, &address, &data, &ecam);
	bus__remove(&bus->vm->mmio, &ecam);
	bus__remove(&bus->vm->pio, &data);
	bus__remove(&bus->vm->pio, &address);
	pci_dev__fini(&bus->bridge);
	pthread_mutex_destroy(&bus->lock);
}
