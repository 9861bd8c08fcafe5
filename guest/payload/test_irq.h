/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_TEST_IRQ_H
#define PAYLOAD_TEST_IRQ_H

#include "apic.h"
#include "disks.h"
#include "trap.h"
#include "verdict.h"

#define ISR_QUEUE 1 /* 4.1.4.5; bit 1 is VIRTIO_PCI_ISR_CONFIG */

/* test_irq.c: disk 0 set up, queue 0 on entry @msix of the table, wishing for interrupts. */
void irq__open(struct disks *d, uint16_t msix);

/* One read, done. */
void irq__read(struct disks *d);

/*
 * Break disk 0: DRIVER_OK with a queue that lies where nothing is.  True: it
 * asks for a reset (2.1.2).
 */
bool irq__break(struct disks *d, uint16_t config_vector);

/* test_msix.c, test_intx.c */
void msix__check(struct disks *d);
void intx__check(struct disks *d);

#endif
