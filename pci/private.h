/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PCI_PRIVATE_H
#define PCI_PRIVATE_H

#include <lkvm/pci.h>

/* Shared by the files of pci/.  All with the bus lock held, or before the vCPUs run. */

/* One access to config space: @len bytes inside one dword, @off + @len <= PCI_CONFIG_SIZE. */
void pci_config__read(struct pci_dev *dev, unsigned int off, void *data, unsigned int len);
void pci_config__write(struct pci_dev *dev, unsigned int off, const void *data, unsigned int len);

void pci_config__set16(struct pci_dev *dev, unsigned int off, uint16_t val);
void pci_config__set32(struct pci_dev *dev, unsigned int off, uint32_t val);

/* Give the BARs addresses from bus->bar_next on.  0 or -ENOSPC with nothing taken. */
int pci_bar__place(struct pci_dev *dev);

/* Map, unmap or move every BAR as its registers and PCI_COMMAND say. */
void pci_bar__update(struct pci_dev *dev);

/* Bring the copy of PCI_COMMAND, INTA and the BARs in line with PCI_COMMAND. */
void pci_config__command(struct pci_dev *dev);

#endif
