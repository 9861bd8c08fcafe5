// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio-blk as a driver sees it, without an operating system in between.
 * pattern=1: sector N of the image begins with "sector N " (the runner's doing).
 * write=1: sectors 8 to 15 may be written and then begin with "written N ".
 */
#include "apic.h"
#include "pattern.h"
#include "trap.h"

#define FEATURES                                                        \
	(VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) | VIRTIO_BIT(VIRTIO_BLK_F_RO) | \
	 VIRTIO_BIT(VIRTIO_BLK_F_BLK_SIZE) | VIRTIO_BIT(VIRTIO_BLK_F_MQ))
#define WRITE_FIRST 8
#define WRITE_COUNT 8
#define GUARD 0x5a
#define ISR_QUEUE 1 /* 4.1.4.5.1; bit 1 is VIRTIO_PCI_ISR_CONFIG */

static const char *pattern__word(uint64_t sector)
{
	bool written = cmdline__num("write", 0) && sector >= WRITE_FIRST &&
		       sector < WRITE_FIRST + WRITE_COUNT;

	return written ? "written" : "sector";
}

/* One read: status OK, length in the used ring, content, nothing behind the buffer. */
static void blk__check_read(struct blk *blk, uint64_t sector, unsigned int count, char *buf)
{
	uint32_t used = 0, len = count * SECTOR;
	int status;

	memset(buf, GUARD, len + 8);
	status = blk__request(blk, VIRTIO_BLK_T_IN, sector, buf, len, &used);
	report(status == VIRTIO_BLK_S_OK, "read %u at %llu: status %d", count,
	       (unsigned long long)sector, status);
	report(used == len + 1, "read %u at %llu: used length %u", count,
	       (unsigned long long)sector, used);
	report(buf[len] == GUARD && buf[len + 7] == GUARD, "read %u at %llu: nothing behind", count,
	       (unsigned long long)sector);
	if (cmdline__num("pattern", 0))
		report(pattern__is(buf, pattern__word(sector), sector, count),
		       "read %u at %llu: content", count, (unsigned long long)sector);
}

static void blk__check_ident(struct blk *blk)
{
	char id[VIRTIO_BLK_ID_BYTES + 1] = "", want[VIRTIO_BLK_ID_BYTES + 1];
	uint64_t sectors = cmdline__num("sectors", 0);
	uint32_t used = 0;
	int status = blk__request(blk, VIRTIO_BLK_T_GET_ID, 0, id, VIRTIO_BLK_ID_BYTES, &used);

	print("payload: blk capacity=%llu id=%s features=%llx queues=%u size=%u\n",
	      (unsigned long long)blk->capacity, id, (unsigned long long)blk->dev.features,
	      mmio__read16(blk->dev.common + VIRTIO_PCI_COMMON_NUMQ), blk->ring.size);
	report(status == VIRTIO_BLK_S_OK, "GET_ID: status %d", status);
	report(used == VIRTIO_BLK_ID_BYTES + 1, "GET_ID: used length %u", used);
	if (sectors)
		report(blk->capacity == sectors, "capacity %llu, the image has %llu",
		       (unsigned long long)blk->capacity, (unsigned long long)sectors);
	if (cmdline__get("serial", want, sizeof(want)))
		report(!strcmp(id, want), "GET_ID gives '%s'", id);
}

static void blk__check_writes(struct blk *blk, char *buf)
{
	bool ro = virtio__has(&blk->dev, VIRTIO_BLK_F_RO);
	uint32_t used = 0;
	int status;

	if (!ro && !cmdline__num("write", 0))
		return;
	pattern__make(buf, "written", WRITE_FIRST, WRITE_COUNT);
	status = blk__request(blk, VIRTIO_BLK_T_OUT, WRITE_FIRST, buf, WRITE_COUNT * SECTOR, &used);
	report(status == (ro ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK), "write: status %d", status);
	report(used == 1, "write: used length %u", used);
	if (!ro) {
		blk__check_read(blk, WRITE_FIRST, WRITE_COUNT, buf);
		blk__check_read(blk, WRITE_FIRST - 1, 1, buf);
		blk__check_read(blk, WRITE_FIRST + WRITE_COUNT, 1, buf);
	}
	if (virtio__has(&blk->dev, VIRTIO_BLK_F_FLUSH)) {
		status = blk__request(blk, VIRTIO_BLK_T_FLUSH, 0, NULL, 0, &used);
		report(status == VIRTIO_BLK_S_OK, "flush: status %d", status);
	}
}

/* 5.2.6.1: IOERR and UNSUPP; the disk answers the next request as before. */
static void blk__check_errors(struct blk *blk, char *buf)
{
	const struct {
		const char *name;
		uint32_t type;
		uint64_t sector;
		uint32_t len;
		int status;
	} cases[] = {
		{"read past the end", VIRTIO_BLK_T_IN, blk->capacity, SECTOR, VIRTIO_BLK_S_IOERR},
		{"read partly past the end", VIRTIO_BLK_T_IN, blk->capacity - 1, 2 * SECTOR,
		 VIRTIO_BLK_S_IOERR},
		{"read at sector 2^64 - 1", VIRTIO_BLK_T_IN, UINT64_MAX, SECTOR,
		 VIRTIO_BLK_S_IOERR},
		{"read at 2^55, where bytes wrap", VIRTIO_BLK_T_IN, 1ULL << 55, SECTOR,
		 VIRTIO_BLK_S_IOERR},
		{"half a sector", VIRTIO_BLK_T_IN, 0, SECTOR / 2, VIRTIO_BLK_S_IOERR},
		{"unknown type", 0x99, 0, SECTOR, VIRTIO_BLK_S_UNSUPP},
	};
	unsigned int i;
	int status;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(buf, GUARD, 2 * SECTOR);
		status = blk__request(blk, cases[i].type, cases[i].sector, buf, cases[i].len, NULL);
		report(status == cases[i].status, "%s: status %d", cases[i].name, status);
	}
	blk__check_read(blk, 0, 1, buf);
}

/* A buffer may end with the last byte of RAM, and not one byte later. */
static void blk__check_ram_end(struct blk *blk)
{
	uint8_t *end = (uint8_t *)boot_info.heap_end, *old = blk->status;
	const uint32_t len[] = {SECTOR, 4096};
	unsigned int i;
	int status;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		memset(end - len[i], GUARD, len[i]);
		status = blk__request(blk, VIRTIO_BLK_T_IN, 0, end - len[i], len[i], NULL);
		report(status == VIRTIO_BLK_S_OK, "%u bytes to the end of RAM: status %d", len[i],
		       status);
		if (cmdline__num("pattern", 0))
			report(pattern__is((char *)end - len[i], "sector", 0, len[i] / SECTOR),
			       "%u bytes to the end of RAM: content", len[i]);
		memset(end - len[i], GUARD, len[i]);
		status = blk__request(blk, VIRTIO_BLK_T_IN, 0, end - len[i] + 1, len[i], NULL);
		report(status == VIRTIO_BLK_S_IOERR, "one byte further: status %d", status);
	}
	blk->status = end - 1;
	status = blk__request(blk, VIRTIO_BLK_T_IN, 0, end - 4096, SECTOR, NULL);
	report(status == VIRTIO_BLK_S_OK, "status in the last byte of RAM: %d", status);
	blk->status = old;
}

static bool blk__open_msix(struct blk *blk)
{
	struct msix *msix = &blk->dev.msix;

	if (!blk__open(blk, 0, FEATURES | virtio__ring_words(), VIRTIO_MSI_NO_VECTOR) || !msix->nr)
		return false;
	msix__enable(msix, true);
	msix__set(msix, 0, VEC_EDGE);
	mmio__write16(blk->dev.common + VIRTIO_PCI_COMMON_Q_MSIX, 0);
	return true;
}

/*
 * 2.7.7 and PCI 3.0, 6.8.2: one interrupt, none where none is wished for,
 * pending while masked.  A device shows a completion and then looks at the wish:
 * that it has done so is certain only after a reset (2.4.1), which opening has
 * at its start.
 */
static void blk__check_msix(char *buf)
{
	struct blk blk;
	struct msix *msix = &blk.dev.msix;
	uint64_t before = irq_count[VEC_EDGE];

	if (!blk__open_msix(&blk))
		return;
	ring__irq(&blk.ring, true);
	blk__request(&blk, VIRTIO_BLK_T_IN, 0, buf, SECTOR, NULL);
	report(irq__wait(VEC_EDGE, before + 1, 2000), "MSI-X: an interrupt for a request");

	blk__open_msix(&blk);
	ring__irq(&blk.ring, false);
	blk__request(&blk, VIRTIO_BLK_T_IN, 0, buf, SECTOR, NULL);
	blk__open_msix(&blk);
	report(irq_count[VEC_EDGE] == before + 1, "MSI-X: none while not wished for");
	ring__irq(&blk.ring, true);
	msix__mask(msix, 0, true);
	blk__request(&blk, VIRTIO_BLK_T_IN, 0, buf, SECTOR, NULL);
	time__delay_us(2000);
	report(irq_count[VEC_EDGE] == before + 1, "MSI-X: none while masked");
	report(msix__pending(msix, 0), "MSI-X: the pending bit is set meanwhile");
	msix__mask(msix, 0, false);
	report(irq__wait(VEC_EDGE, before + 2, 2000), "MSI-X: it comes at unmask");
	report(!msix__pending(msix, 0), "MSI-X: and the pending bit is clear");
	time__delay_us(2000);
	report(irq_count[VEC_EDGE] == before + 2, "MSI-X: %llu interrupts in all",
	       (unsigned long long)(irq_count[VEC_EDGE] - before));
	virtio__reset(&blk.dev);
	msix__enable(msix, false);
}

/* Does PCI_STATUS show the interrupt while nobody takes it (pin masked), and not afterwards? */
static void blk__check_intx_status(struct blk *blk, char *buf)
{
	blk__request(blk, VIRTIO_BLK_T_IN, 0, buf, SECTOR, NULL);
	report(pci__read(blk->dev.fn, PCI_STATUS, 2) & PCI_STATUS_INTERRUPT,
	       "INTx: the status register shows it");
	report(mmio__read8(blk->dev.isr) == ISR_QUEUE, "INTx: the ISR tells the reason");
	report(!mmio__read8(blk->dev.isr), "INTx: reading has cleared it");
	report(!(pci__read(blk->dev.fn, PCI_STATUS, 2) & PCI_STATUS_INTERRUPT),
	       "INTx: and the status register");
}

/* 4.1.4.5: level interrupt, the ISR tells the reason and reading it takes the level away. */
static void blk__check_intx(char *buf)
{
	struct blk blk;
	unsigned int pin;
	uint64_t before = irq_count[VEC_LEVEL];

	if (!blk__open(&blk, 0, FEATURES | virtio__ring_words(), VIRTIO_MSI_NO_VECTOR))
		return;
	ring__irq(&blk.ring, true);
	blk__check_intx_status(&blk, buf);
	pin = cmdline__num("gsi", 16 + PCI_FN_SLOT(blk.dev.fn) % 8);
	irq_ack.addr = blk.dev.isr;
	irq_ack.seen = 0;
	ring__irq(&blk.ring, true);
	ioapic__route(pin, VEC_LEVEL, true, apic__id());
	blk__request(&blk, VIRTIO_BLK_T_IN, 0, buf, SECTOR, NULL);
	report(irq__wait(VEC_LEVEL, before + 1, 2000), "INTx: an interrupt on pin %u", pin);
	time__delay_us(2000);
	report(irq_ack.seen == ISR_QUEUE, "INTx: the handler found %x in the ISR", irq_ack.seen);
	/*
	 * One on hardware.  A software KVM has been seen to end an interrupt as it
	 * delivers it, with the line still up: one more comes and finds ISR 0.
	 */
	report(irq_count[VEC_LEVEL] <= before + 2, "INTx: %llu interrupts in all",
	       (unsigned long long)(irq_count[VEC_LEVEL] - before));
	ioapic__route(pin, 0, false, 0);
	virtio__reset(&blk.dev);
}

int test__blk(void)
{
	struct blk blk;
	char *buf;

	if (!blk__open(&blk, 0, FEATURES | virtio__ring_words(), VIRTIO_MSI_NO_VECTOR)) {
		print("payload: no virtio-blk device\n");
		return EXIT_SKIP;
	}
	buf = mem__alloc(65536 + PAGE_SIZE, PAGE_SIZE);
	blk__check_ident(&blk);
	blk__check_writes(&blk, buf);
	blk__check_read(&blk, 0, 1, buf);
	blk__check_read(&blk, blk.capacity - 1, 1, buf);
	blk__check_read(&blk, 16, 8, buf);
	blk__check_read(&blk, 16, 128, buf);
	blk__check_errors(&blk, buf);
	blk__check_ram_end(&blk);
	apic__enable();
	irq__on();
	blk__check_msix(buf);
	blk__check_intx(buf);
	irq__off();
	return report__summary();
}
