// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio-blk as a driver sees it, without an operating system in between.
 * pattern=1: sector N of the image begins with "sector N " (the runner's doing).
 * write=1: sectors 8 to 15 may be written and then begin with "written N ".
 */
#include "pattern.h"
#include "verdict.h"

#define FEATURES                                                           \
	(VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) | VIRTIO_BIT(VIRTIO_BLK_F_RO) |    \
	 VIRTIO_BIT(VIRTIO_BLK_F_BLK_SIZE) | VIRTIO_BIT(VIRTIO_BLK_F_MQ) | \
	 VIRTIO_BIT(VIRTIO_BLK_F_DISCARD) | VIRTIO_BIT(VIRTIO_BLK_F_WRITE_ZEROES))
#define WRITE_FIRST 8
#define WRITE_COUNT 8
#define GUARD 0x5a

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
	request__check(&blk, buf);
	blk__check_writes(&blk, buf);
	blk__check_read(&blk, 0, 1, buf);
	blk__check_read(&blk, blk.capacity - 1, 1, buf);
	blk__check_read(&blk, 16, 8, buf);
	blk__check_read(&blk, 16, 128, buf);
	blk__check_ram_end(&blk);
	return verdict__summary();
}
