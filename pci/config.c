// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration space of one function: identity, capabilities, and what a
 * read or a write does.  PCI Local Bus 3.0, chapter 6.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "private.h"

uint16_t pci_dev__get16(const struct pci_dev *dev, unsigned int off)
{
	uint16_t val;

	memcpy(&val, dev->config + off, sizeof(val));
	return le16toh(val);
}

uint32_t pci_dev__get32(const struct pci_dev *dev, unsigned int off)
{
	uint32_t val;

	memcpy(&val, dev->config + off, sizeof(val));
	return le32toh(val);
}

void pci_config__set16(struct pci_dev *dev, unsigned int off, uint16_t val)
{
	val = htole16(val);
	memcpy(dev->config + off, &val, sizeof(val));
}

void pci_config__set32(struct pci_dev *dev, unsigned int off, uint32_t val)
{
	val = htole32(val);
	memcpy(dev->config + off, &val, sizeof(val));
}

static void allow16(struct pci_dev *dev, unsigned int off, uint16_t mask)
{
	dev->wmask[off] = mask & 0xff;
	dev->wmask[off + 1] = mask >> 8;
}

void pci_dev__ident(struct pci_dev *dev, uint16_t vendor, uint16_t device, uint8_t revision,
		    uint32_t class_code, uint16_t sub_vendor, uint16_t sub_device)
{
	memset(dev, 0, sizeof(*dev));
	pthread_mutex_init(&dev->intx_lock, NULL);
	dev->pin_source = -1;
	dev->cap_end = PCI_STD_HEADER_SIZEOF;
	pci_config__set16(dev, PCI_VENDOR_ID, vendor);
	pci_config__set16(dev, PCI_DEVICE_ID, device);
	pci_config__set32(dev, PCI_CLASS_REVISION, class_code << 8 | revision);
	pci_config__set16(dev, PCI_SUBSYSTEM_VENDOR_ID, sub_vendor);
	pci_config__set16(dev, PCI_SUBSYSTEM_ID, sub_device);
	dev->config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_NORMAL;
	dev->wmask[PCI_CACHE_LINE_SIZE] = 0xff;
	allow16(dev, PCI_COMMAND,
		PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
	/* the error bits of PCI_STATUS; nothing here ever sets them */
	dev->w1cmask[PCI_STATUS + 1] = 0xf9;
}

void pci_dev__fini(struct pci_dev *dev)
{
	pthread_mutex_destroy(&dev->intx_lock);
}

int pci_dev__add_cap(struct pci_dev *dev, const void *cap, unsigned int len)
{
	unsigned int off = (dev->cap_end + 3) & ~3U;
	unsigned int link = dev->cap_last ? dev->cap_last + PCI_CAP_LIST_NEXT : PCI_CAPABILITY_LIST;

	if (len <= PCI_CAP_LIST_NEXT || len > PCI_CONFIG_SIZE || off + len > PCI_CONFIG_SIZE)
		return -ENOSPC;
	memcpy(dev->config + off, cap, len);
	dev->config[off + PCI_CAP_LIST_NEXT] = 0;
	dev->config[link] = off;
	dev->config[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
	dev->cap_last = off;
	dev->cap_end = off + len;
	return off;
}

/*
 * INTA.  The level that the function asks for and PCI_COMMAND_INTX_DISABLE
 * meet here, under intx_lock: an I/O thread that raises the line and a vCPU
 * that writes PCI_COMMAND always leave what the last of them saw.
 */
static void intx_sync(struct pci_dev *dev)
{
	unsigned int command = atomic_load(&dev->command);
	bool out = atomic_load(&dev->intx) && !(command & PCI_COMMAND_INTX_DISABLE);

	if (out == dev->intx_out || dev->pin_source < 0)
		return;
	dev->intx_out = out;
	irq__pin_set(&dev->bus->vm->irq, dev->gsi, dev->pin_source, out);
}

void pci_dev__intx(struct pci_dev *dev, bool level)
{
	pthread_mutex_lock(&dev->intx_lock);
	atomic_store(&dev->intx, level);
	intx_sync(dev);
	pthread_mutex_unlock(&dev->intx_lock);
}

void pci_config__command(struct pci_dev *dev)
{
	pthread_mutex_lock(&dev->intx_lock);
	atomic_store(&dev->command, pci_dev__get16(dev, PCI_COMMAND));
	intx_sync(dev);
	pthread_mutex_unlock(&dev->intx_lock);
	pci_bar__update(dev);
}

static bool touches(unsigned int off, unsigned int len, unsigned int start, unsigned int size)
{
	return off < start + size && start < off + len;
}

void pci_config__read(struct pci_dev *dev, unsigned int off, void *data, unsigned int len)
{
	uint8_t *to = data;

	if (dev->ops && dev->ops->config_read && dev->ops->config_read(dev, off, data, len))
		return;
	memcpy(data, dev->config + off, len);
	/*
	 * PCI_STATUS_INTERRUPT shows the request whatever PCI_COMMAND says of it
	 * (6.2.3).  It is laid over what is read, since I/O threads raise the
	 * line and do not touch config[].
	 */
	if (touches(off, len, PCI_STATUS, 1) && atomic_load(&dev->intx))
		to[PCI_STATUS - off] |= PCI_STATUS_INTERRUPT;
}

static void store(struct pci_dev *dev, unsigned int off, const uint8_t *from, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++) {
		uint8_t *reg = &dev->config[off + i];
		uint8_t wmask = dev->wmask[off + i];

		*reg = (*reg & ~wmask) | (from[i] & wmask);
		*reg &= ~(from[i] & dev->w1cmask[off + i]);
	}
}

void pci_config__write(struct pci_dev *dev, unsigned int off, const void *data, unsigned int len)
{
	if (dev->ops && dev->ops->config_write && dev->ops->config_write(dev, off, data, len))
		return;
	store(dev, off, data, len);
	if (touches(off, len, PCI_COMMAND, 2))
		pci_config__command(dev);
	else if (touches(off, len, PCI_BASE_ADDRESS_0, 4 * PCI_BARS))
		pci_bar__update(dev);
	if (dev->ops && dev->ops->config_written)
		dev->ops->config_written(dev, off, len);
}
