// SPDX-License-Identifier: GPL-2.0-only
/*
 * MSI-X table, pending bits and message control (PCI 3.0, 6.8.2): a guest that
 * writes them in any order while the device signals and KVM refuses a message
 * now and then.  The model says what each vector does: each signal is delivered
 * once, with the message in the table, or shows as a pending bit.
 *
 * options: -max_len=128
 * wrapped: write
 */
#include "fuzz.h"
#include "tests/unit/fake_kvm.h"

#include <unistd.h>

#include <lkvm/msix.h>

#define VECTORS 3
#define BAR 2
#define PBA 0x800U

struct model {
	uint32_t entry[VECTORS][4]; /* as the table reads */
	bool masked[VECTORS]; /* by its own bit, the function, or for want of a route */
	bool blocked, enabled;
	unsigned int pending; /* a bit a vector */
	unsigned int fired[VECTORS];
};

struct rig {
	struct fake_vm fake;
	struct pci_bus bus;
	struct pci_dev dev;
	struct msix msix;
	struct model model;
	unsigned int fired[VECTORS];
};

static struct rig rig;

ssize_t __real_write(int fd, const void *buf, size_t len);
ssize_t __wrap_write(int fd, const void *buf, size_t len);

/* The irqfd of a vector is written: the interrupt comes with what is routed now. */
ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
	for (unsigned int v = 0; v < rig.msix.nr; v++) {
		const uint32_t *entry = rig.model.entry[v];
		int gsi = rig.msix.vector[v].gsi;

		if (rig.msix.vector[v].fd != fd)
			continue;
		FUZZ_CHECK(len == 8 && rig.fake.gsi[gsi].fd == fd);
		FUZZ_CHECK(rig.fake.gsi[gsi].addr == ((uint64_t)entry[1] << 32 | entry[0]));
		FUZZ_CHECK(rig.fake.gsi[gsi].data == entry[2]);
		rig.fired[v]++;
		return len;
	}
	return __real_write(fd, buf, len);
}

/* ---- the model ---- */

static void model_update(struct model *m, unsigned int v)
{
	m->masked[v] = m->blocked || (m->entry[v][3] & PCI_MSIX_ENTRY_CTRL_MASKBIT) ||
		       rig.fake.route_error;
	if (!m->masked[v] && (m->pending >> v & 1)) {
		m->pending &= ~(1U << v);
		m->fired[v]++;
	}
}

/* Message control or PCI_COMMAND was written: the bits are taken from config space. */
static void model_control(struct model *m)
{
	uint16_t control = pci_dev__get16(&rig.dev, rig.msix.cap + PCI_MSIX_FLAGS);
	uint16_t command = pci_dev__get16(&rig.dev, PCI_COMMAND);
	bool blocked;

	m->enabled = control & PCI_MSIX_FLAGS_ENABLE;
	blocked = !m->enabled || (control & PCI_MSIX_FLAGS_MASKALL) ||
		  !(command & PCI_COMMAND_MASTER);
	if (blocked == m->blocked)
		return;
	m->blocked = blocked;
	for (unsigned int v = 0; v < VECTORS; v++)
		model_update(m, v);
}

static void model_write(struct model *m, unsigned int off, uint64_t val, unsigned int len)
{
	unsigned int v = off / PCI_MSIX_ENTRY_SIZE;

	if (len < 4 || off % len || v >= VECTORS)
		return;
	m->entry[v][off / 4 % 4] = val;
	if (len == 8)
		m->entry[v][off / 4 % 4 + 1] = val >> 32;
	m->entry[v][0] &= ~3U;
	m->entry[v][3] &= PCI_MSIX_ENTRY_CTRL_MASKBIT;
	model_update(m, v);
}

static uint32_t model_dword(const struct model *m, unsigned int off)
{
	unsigned int v = off / PCI_MSIX_ENTRY_SIZE;

	if (v < VECTORS)
		return m->entry[v][off / 4 % 4];
	return off == PBA ? m->pending : 0;
}

static uint64_t model_read(const struct model *m, unsigned int off, unsigned int len)
{
	if (len < 4 || off % len)
		return ~0ULL >> (64 - 8 * len);
	if (len == 4)
		return model_dword(m, off);
	return model_dword(m, off) | (uint64_t)model_dword(m, off + 4) << 32;
}

/* ---- what guest and device do ---- */

static uint64_t bar_base(void)
{
	return rig.dev.bar[BAR].base;
}

/* Mostly in the table, or at the pending bits. */
static unsigned int table_offset(struct fuzz_in *in, unsigned int shape)
{
	unsigned int off = fuzz__take(in, 1);

	if (shape & 0x40)
		return (off << 4 | shape >> 2) & 0xfff;
	return shape & 0x20 ? PBA + off % 16 : off % (PCI_MSIX_ENTRY_SIZE * (VECTORS + 1));
}

static void table_access(struct fuzz_in *in, bool write)
{
	unsigned int shape = fuzz__take(in, 1), len = 1U << (shape & 3);
	unsigned int off = table_offset(in, shape);
	uint64_t val;

	if (off + len > 0x1000)
		return;
	if (write) {
		val = fuzz__take(in, len);
		model_write(&rig.model, off, val, len); /* first: the interrupt is checked by it */
		mmio_write(&rig.fake, bar_base() + off, val, len);
	} else {
		FUZZ_CHECK(mmio_read(&rig.fake, bar_base() + off, len) ==
			   model_read(&rig.model, off, len));
	}
}

static void control(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);
	unsigned int flags = rig.msix.cap + PCI_MSIX_FLAGS;

	if (shape & 1)
		cfg_write(&rig.fake, 1, flags, (shape & 0xc0) << 8, 2);
	else if (shape & 2)
		cfg_write(&rig.fake, 1, PCI_COMMAND,
			  PCI_COMMAND_MEMORY | (shape & 4 ? PCI_COMMAND_MASTER : 0), 2);
	else
		cfg_write(&rig.fake, 1, flags & ~3U, fuzz__take(in, 4), 4);
	model_control(&rig.model);
}

static void signal_vector(struct model *m, unsigned int v)
{
	bool sent;

	if (v < VECTORS && m->masked[v])
		m->pending |= 1U << v;
	else if (v < VECTORS)
		m->fired[v]++;
	sent = msix__signal(&rig.msix, v);
	FUZZ_CHECK(sent == (v < VECTORS && !m->masked[v]));
}

static void check_state(const struct model *m)
{
	FUZZ_CHECK(atomic_load(&rig.msix.pending) == m->pending);
	FUZZ_CHECK(msix__enabled(&rig.msix) == m->enabled);
	FUZZ_CHECK(!memcmp(rig.fired, m->fired, sizeof(rig.fired)));
}

static void config_written(struct pci_dev *dev, unsigned int off, unsigned int len)
{
	(void)dev;
	msix__config_written(&rig.msix, off, len);
}

static const struct pci_dev_ops dev_ops = {
	.config_written = config_written,
};

static void set_up(void)
{
	fake_vm__init(&rig.fake);
	FUZZ_CHECK(!pci__init(&rig.bus, &rig.fake.vm, FAKE_ECAM, FAKE_BARS, FAKE_BARS_SIZE));
	pci_dev__ident(&rig.dev, 0x1af4, 0x1042, 1, 0x018000, 0x1af4, 0x1100);
	rig.dev.bus = &rig.bus;
	rig.dev.ops = &dev_ops;
	FUZZ_CHECK(!msix__init(&rig.msix, &rig.dev, VECTORS, BAR));
	FUZZ_CHECK(pci__add(&rig.bus, &rig.dev) == 1);
	for (unsigned int v = 0; v < VECTORS; v++) {
		rig.model.entry[v][3] = PCI_MSIX_ENTRY_CTRL_MASKBIT;
		rig.model.masked[v] = true;
	}
	rig.model.blocked = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	static struct rig clean;

	if (!clean.bus.vm) {
		set_up();
		memcpy(&clean, &rig, sizeof(rig));
	}
	memcpy(&rig, &clean, sizeof(rig)); /* it points into itself, and no lock is held */
	while (fuzz__more(&in)) {
		unsigned int op = fuzz__take(&in, 1);

		switch (op & 7) {
		case 0:
		case 1:
		case 2:
			table_access(&in, op & 3);
			break;
		case 3:
			control(&in);
			break;
		case 4:
			rig.fake.route_error = op & 0x10 ? -EINVAL : 0;
			break;
		case 5:
			msix__forget(&rig.msix);
			rig.model.pending = 0;
			break;
		default:
			signal_vector(&rig.model, op >> 4 & 3);
		}
		check_state(&rig.model);
	}
	return 0;
}
