// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that does not accept VIRTIO_BLK_F_RO, on a read-only disk.  The
 * device still must not write (5.2.6.2): writes are IOERR, discard and write
 * zeroes may be UNSUPP where they are not offered.  FLUSH and GET_ID are OK,
 * and reading goes on after each.  That the image is unchanged is the runner's
 * business.  The disk holds the pattern "sector".
 */
#include "pattern.h"

static void readonly__one(struct blk *blk, const char *name, uint32_t type, void *buf, uint32_t len,
			  bool unsupp)
{
	static char data[SECTOR];
	uint32_t used = 0;
	int status = blk__request(blk, type, 0, buf, len, &used);

	report(status == VIRTIO_BLK_S_IOERR || (unsupp && status == VIRTIO_BLK_S_UNSUPP),
	       "%s: status %d", name, status);
	report(used == 1, "%s: used length %u", name, used);
	status = blk__request(blk, VIRTIO_BLK_T_IN, 0, data, SECTOR, &used);
	report(status == VIRTIO_BLK_S_OK && pattern__is(data, "sector", 0, 1),
	       "%s: and the disk reads as before", name);
}

int test__readonly(void)
{
	static char data[8 * SECTOR];
	struct virtio_blk_discard_write_zeroes range = {.num_sectors = 8};
	uint64_t wanted = virtio__ring_words();
	struct blk blk;
	int status;

	if (cmdline__bool("flush", true))
		wanted |= VIRTIO_BIT(VIRTIO_BLK_F_FLUSH);
	if (!blk__open(&blk, 0, wanted, VIRTIO_MSI_NO_VECTOR)) {
		print("payload: no virtio-blk device\n");
		return EXIT_SKIP;
	}
	report(virtio__offered(&blk.dev) >> VIRTIO_BLK_F_RO & 1, "RO is offered");
	report(!virtio__has(&blk.dev, VIRTIO_BLK_F_RO), "and not accepted");
	pattern__make(data, "forbidden", 0, 8);
	readonly__one(&blk, "OUT", VIRTIO_BLK_T_OUT, data, sizeof(data), false);
	readonly__one(&blk, "OUT of one sector", VIRTIO_BLK_T_OUT, data, SECTOR, false);
	readonly__one(&blk, "DISCARD", VIRTIO_BLK_T_DISCARD, &range, sizeof(range), true);
	readonly__one(&blk, "WRITE_ZEROES", VIRTIO_BLK_T_WRITE_ZEROES, &range, sizeof(range), true);
	range.flags = VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	readonly__one(&blk, "WRITE_ZEROES with unmap", VIRTIO_BLK_T_WRITE_ZEROES, &range,
		      sizeof(range), true);
	status = blk__request(&blk, VIRTIO_BLK_T_FLUSH, 0, NULL, 0, NULL);
	report(status == VIRTIO_BLK_S_OK, "FLUSH: status %d", status);
	status = blk__request(&blk, VIRTIO_BLK_T_GET_ID, 0, data, VIRTIO_BLK_ID_BYTES, NULL);
	report(status == VIRTIO_BLK_S_OK, "GET_ID: status %d", status);
	virtio__reset(&blk.dev);
	return report__summary();
}
