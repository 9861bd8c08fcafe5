// SPDX-License-Identifier: GPL-2.0-only
/*
 * Config space and BARs: a guest that writes anything anywhere, through CF8/CFC
 * and ECAM, and accesses memory.  The model has the bytes of config space and
 * the order of the ranges that answer; each access is compared with it.
 *
 * options: -max_len=192
 */
#include "fuzz.h"
#include "tests/unit/fake_kvm.h"

#include <lkvm/pci.h>

#define DEVS 2 /* in slots 1 and 2 */
#define BARS 2 /* of each: 32-bit ones of the first, 64-bit ones of the second */
#define RANGES (1 + DEVS * BARS) /* ECAM first */

struct rig_bar {
	unsigned int dev, reg; /* the register's offset */
	uint64_t size;
	bool is64;
};

static const struct rig_bar bars[DEVS * BARS] = {
	{0, PCI_BASE_ADDRESS_0, 0x1000, false},
	{0, PCI_BASE_ADDRESS_5, 0x100000, false},
	{1, PCI_BASE_ADDRESS_0, 0x4000, true},
	{1, PCI_BASE_ADDRESS_2, 0x1000, true},
};

/* The right state, by the PCI specification and pci.h. */
struct model {
	uint8_t config[DEVS][PCI_CONFIG_SIZE], wmask[DEVS][PCI_CONFIG_SIZE];
	uint32_t address; /* CF8 */
	bool intx[DEVS];
	struct {
		bool mapped;
		uint64_t base;
	} bar[DEVS * BARS];
	int order[RANGES]; /* who answers first: numbers in bars[], -1: ECAM */
	unsigned int nr_order;
};

struct rig {
	struct fake_vm fake;
	struct pci_bus bus;
	struct pci_dev dev[DEVS];
	struct model model;
	/* what the handlers of BARs were called with */
	int hit; /* number in bars[], -1: none */
	uint64_t off;
	unsigned int len;
};

static struct rig rig;

/* ---- the devices ---- */

static void note(void *opaque, uint64_t off, unsigned int len)
{
	rig.hit = (const struct rig_bar *)opaque - bars;
	rig.off = off;
	rig.len = len;
}

static void bar_read(void *opaque, uint64_t off, void *data, unsigned int len)
{
	note(opaque, off, len);
	memset(data, 0x33, len);
}

static void bar_write(void *opaque, uint64_t off, const void *data, unsigned int len)
{
	(void)data;
	note(opaque, off, len);
}

static const struct bus_ops bar_ops = {
	.read = bar_read,
	.write = bar_write,
};

static void add_dev(unsigned int nr)
{
	static const uint8_t cap[6] = {PCI_CAP_ID_VNDR, 0, sizeof(cap), 1, 2, 3};
	struct pci_dev *dev = &rig.dev[nr];

	pci_dev__ident(dev, 0x1af4, 0x1042 + nr, 1, 0x018000, 0x1af4, 0x1100);
	dev->bus = &rig.bus;
	for (unsigned int i = 0; i < DEVS * BARS; i++) {
		unsigned int reg = (bars[i].reg - PCI_BASE_ADDRESS_0) / 4;

		if (bars[i].dev == nr)
			FUZZ_CHECK(!pci_dev__add_bar(dev, reg, bars[i].size, bars[i].is64, &bar_ops,
						     (void *)&bars[i]));
	}
	FUZZ_CHECK(pci_dev__add_cap(dev, cap, sizeof(cap)) == PCI_STD_HEADER_SIZEOF);
	FUZZ_CHECK(pci__add(&rig.bus, dev) == (int)nr + 1);
}

/* ---- the model ---- */

static uint32_t get32(const uint8_t *config, unsigned int off)
{
	uint32_t val;

	memcpy(&val, config + off, sizeof(val));
	return val;
}

static void put32(uint8_t *to, unsigned int off, uint32_t val)
{
	memcpy(to + off, &val, sizeof(val));
}

static uint64_t model_bar(const struct model *m, unsigned int i)
{
	const uint8_t *config = m->config[bars[i].dev];
	uint64_t val = get32(config, bars[i].reg) & ~0xfU;

	return bars[i].is64 ? val | (uint64_t)get32(config, bars[i].reg + 4) << 32 : val;
}

/* All ones of sizing with decoding on leave the BAR where it is: see pci/bar.c. */
static bool model_sizing(unsigned int i, uint64_t val)
{
	return val == (uint32_t)-bars[i].size || (bars[i].is64 && val >> 32 == 0xffffffff);
}

static void model_map(struct model *m, unsigned int i, bool map, uint64_t base)
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < m->nr_order; k++)
		if (m->order[k] != (int)i)
			m->order[n++] = m->order[k];
	m->nr_order = n;
	m->bar[i].mapped = map;
	m->bar[i].base = base;
	if (map)
		m->order[m->nr_order++] = i;
}

static void model_update(struct model *m, unsigned int dev)
{
	for (unsigned int i = 0; i < DEVS * BARS; i++) {
		bool map = m->config[dev][PCI_COMMAND] & PCI_COMMAND_MEMORY;
		uint64_t val = model_bar(m, i);

		if (bars[i].dev != dev || (map && model_sizing(i, val)))
			continue;
		map = map && val && val + bars[i].size > val;
		if (map != m->bar[i].mapped || (map && val != m->bar[i].base))
			model_map(m, i, map, val);
	}
}

static void model_init(struct model *m)
{
	m->order[m->nr_order++] = -1;
	for (unsigned int d = 0; d < DEVS; d++) {
		memcpy(m->config[d], rig.dev[d].config, PCI_CONFIG_SIZE);
		/* 6.2.2, 6.2.4, 6.2.5.1: what a guest can write */
		m->wmask[d][PCI_COMMAND] = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
		m->wmask[d][PCI_COMMAND + 1] = PCI_COMMAND_INTX_DISABLE >> 8;
		m->wmask[d][PCI_CACHE_LINE_SIZE] = 0xff;
		m->wmask[d][PCI_INTERRUPT_LINE] = 0xff;
	}
	for (unsigned int i = 0; i < DEVS * BARS; i++) {
		put32(m->wmask[bars[i].dev], bars[i].reg, -bars[i].size);
		if (bars[i].is64)
			put32(m->wmask[bars[i].dev], bars[i].reg + 4, ~0U);
		model_map(m, i, true, model_bar(m, i));
	}
}

/* One config cycle: the bytes of a dword. */
static void model_cycle(struct model *m, unsigned int dev, unsigned int off, const uint8_t *data,
			unsigned int len)
{
	for (unsigned int i = 0; i < len; i++) {
		uint8_t mask = m->wmask[dev][off + i];

		m->config[dev][off + i] = (m->config[dev][off + i] & ~mask) | (data[i] & mask);
	}
	if (off / 4 == PCI_COMMAND / 4 ||
	    (off >= PCI_BASE_ADDRESS_0 && off < PCI_BASE_ADDRESS_5 + 4))
		model_update(m, dev);
}

static void model_write(struct model *m, unsigned int slot, unsigned int off, const uint8_t *data,
			unsigned int len)
{
	while (len && slot >= 1 && slot <= DEVS && off < PCI_CONFIG_SIZE) {
		unsigned int n = 4 - off % 4 < len ? 4 - off % 4 : len;

		model_cycle(m, slot - 1, off, data, n);
		off += n;
		data += n;
		len -= n;
	}
}

/* What a read of one byte gives; the bridge in slot 0 is taken as it is. */
static uint8_t model_byte(const struct model *m, unsigned int slot, unsigned int off)
{
	if (slot > DEVS)
		return 0xff;
	if (off >= PCI_CONFIG_SIZE)
		return 0;
	if (!slot)
		return rig.bus.bridge.config[off];
	if (off == PCI_STATUS && m->intx[slot - 1])
		return m->config[slot - 1][off] | PCI_STATUS_INTERRUPT;
	return m->config[slot - 1][off];
}

static void check_read(const struct model *m, unsigned int devfn, unsigned int off, uint64_t got,
		       unsigned int len)
{
	for (unsigned int i = 0; i < len; i++) {
		uint8_t want = devfn & 7 ? 0xff : model_byte(m, devfn >> 3, off + i);

		FUZZ_CHECK((uint8_t)(got >> (8 * i)) == want);
	}
}

/* ---- what the guest does ---- */

static void cf8(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);
	uint32_t val = fuzz__take(in, 4);

	if (shape & 1) /* one of the slots there are */
		val = 0x80000000U | (shape >> 1 & 3) << 11 | (val & 0xff);
	if (shape & 0x80) { /* anything but a dword is not for this register */
		pio_write(&rig.fake, 0xcf8, val, 1 + (shape >> 3 & 1));
		FUZZ_CHECK(pio_read(&rig.fake, 0xcf8, 2) == 0xffff);
		return;
	}
	pio_write(&rig.fake, 0xcf8, val, 4);
	rig.model.address = val & 0x80fffffc;
	FUZZ_CHECK(pio_read(&rig.fake, 0xcf8, 4) == rig.model.address);
}

static void cfc(struct fuzz_in *in, bool write)
{
	unsigned int shape = fuzz__take(in, 1), off = shape & 3, len = 1U << (shape >> 2 & 3) % 3;
	uint32_t address = rig.model.address, val;
	bool cycle = (address & 0x80ff0000) == 0x80000000;

	if (off + len > 4)
		off = 0;
	if (write) {
		val = fuzz__take(in, len);
		pio_write(&rig.fake, 0xcfc + off, val, len);
		if (cycle && !(address >> 8 & 7))
			model_write(&rig.model, address >> 11 & 31, (address & 0xfc) + off,
				    (const uint8_t *)&val, len);
		return;
	}
	val = pio_read(&rig.fake, 0xcfc + off, len);
	if (cycle)
		check_read(&rig.model, address >> 8 & 0xff, (address & 0xfc) + off, val, len);
	else
		FUZZ_CHECK(val == 0xffffffffU >> (32 - 8 * len));
}

static void ecam_access(struct fuzz_in *in, bool write)
{
	unsigned int shape = fuzz__take(in, 1), off = fuzz__take(in, shape & 0x80 ? 2 : 1) & 0xfff;
	unsigned int len = 1U << (shape & 3), slot = shape >> 2 & 3, fn = shape & 0x40 ? 1 : 0;
	uint64_t addr = ecam(slot, fn, off), val;
	bool inside = off + len <= 0x1000;

	if (write) {
		val = fuzz__take(in, len);
		mmio_write(&rig.fake, addr, val, len);
		if (inside && !fn)
			model_write(&rig.model, slot, off, (const uint8_t *)&val, len);
		return;
	}
	val = mmio_read(&rig.fake, addr, len);
	if (inside)
		check_read(&rig.model, slot << 3 | fn, off, val, len);
	else
		FUZZ_CHECK(val == ~0ULL >> (64 - 8 * len));
}

/* Who should answer: the first range that holds the whole access. */
static int model_target(const struct model *m, uint64_t addr, unsigned int len, uint64_t *base)
{
	for (unsigned int k = 0; k < m->nr_order; k++) {
		int i = m->order[k];
		uint64_t size = i < 0 ? PCI_ECAM_SIZE : bars[i].size;

		*base = i < 0 ? FAKE_ECAM : m->bar[i].base;
		if (addr >= *base && addr - *base < size && len <= size - (addr - *base))
			return i;
	}
	return -2;
}

static void memory_access(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1), len = 1U << (shape & 3), i = shape >> 2 & 3;
	uint64_t addr, base, val;
	int want;

	if (shape & 0x10)
		addr = fuzz__take(in, 8);
	else
		addr = rig.model.bar[i].base + (fuzz__take(in, 2) & (bars[i].size - 1)) +
		       (shape & 0x20 ? bars[i].size : 0);
	want = model_target(&rig.model, addr, len, &base);
	if (want == -1)
		return; /* ECAM has its own cases */
	rig.hit = -2;
	if (shape & 0x80) {
		mmio_write(&rig.fake, addr, 0, len);
	} else {
		val = mmio_read(&rig.fake, addr, len);
		FUZZ_CHECK((uint8_t)val == (want < 0 ? 0xff : 0x33));
	}
	FUZZ_CHECK(rig.hit == want);
	if (want >= 0)
		FUZZ_CHECK(rig.off == addr - base && rig.len == len);
}

/* The pin of a device is up where it asks for it and PCI_COMMAND does not forbid it. */
static void check_state(const struct model *m)
{
	for (unsigned int d = 0; d < DEVS; d++) {
		bool up = m->intx[d] &&
			  !(m->config[d][PCI_COMMAND + 1] & (PCI_COMMAND_INTX_DISABLE >> 8));

		FUZZ_CHECK(!memcmp(rig.dev[d].config, m->config[d], PCI_CONFIG_SIZE));
		FUZZ_CHECK(rig.fake.pin[PCI_GSI_BASE + d + 1] == up);
		FUZZ_CHECK(pci_dev__bus_master(&rig.dev[d]) ==
			   !!(m->config[d][PCI_COMMAND] & PCI_COMMAND_MASTER));
	}
	FUZZ_CHECK(rig.fake.vm.mmio.nr == m->nr_order);
}

static void set_up(void)
{
	fake_vm__init(&rig.fake);
	FUZZ_CHECK(!pci__init(&rig.bus, &rig.fake.vm, FAKE_ECAM, FAKE_BARS, FAKE_BARS_SIZE));
	for (unsigned int d = 0; d < DEVS; d++)
		add_dev(d);
	model_init(&rig.model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	static struct rig clean;

	if (!clean.bus.vm) {
		set_up();
		clean = rig;
	}
	memcpy(&rig, &clean, sizeof(rig)); /* it points into itself, and no lock is held */
	while (fuzz__more(&in)) {
		unsigned int op = fuzz__take(&in, 1);

		switch (op & 7) {
		case 0:
			cf8(&in);
			break;
		case 1:
		case 2:
			cfc(&in, op & 1);
			break;
		case 3:
		case 4:
		case 5:
			ecam_access(&in, op & 1);
			break;
		case 6:
			memory_access(&in);
			break;
		default:
			rig.model.intx[op >> 3 & 1] = op >> 4 & 1;
			pci_dev__intx(&rig.dev[op >> 3 & 1], op >> 4 & 1);
		}
		check_state(&rig.model);
	}
	return 0;
}
