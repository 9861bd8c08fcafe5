// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every type of block request with its exact status and used length.  What it
 * changes of the image: sectors 8 to 15, where the command line allows writes.
 */
#include "pattern.h"
#include "verdict.h"

#define FAMILY "blk-request"
#define GUARD 0x5a

/*
 * 5.2.6, by what goes in: type, sector, bytes of data; and what comes out:
 * status and used length.  The data is readable for OUT, DISCARD and
 * WRITE_ZEROES, writable otherwise.
 */
#define AT(n) false, (n)
#define LAST(n) true, (n) /* so many sectors before the end */
#define OK(len) VIRTIO_BLK_S_OK, (len) + 1
#define IOERR VIRTIO_BLK_S_IOERR, 1
#define UNSUPP VIRTIO_BLK_S_UNSUPP, 1

struct request_case {
	const char *name;
	uint32_t type;
	bool from_end;
	uint64_t sector;
	uint32_t len;
	int status;
	uint32_t used;
	bool writes; /* only where the disk may be written; IOERR where it is read-only */
};

static const struct request_case requests[] = {
	{"IN, nothing", VIRTIO_BLK_T_IN, AT(0), 0, OK(0), false},
	{"IN, nothing at the end", VIRTIO_BLK_T_IN, LAST(0), 0, OK(0), false},
	{"IN, 1 sector", VIRTIO_BLK_T_IN, AT(0), SECTOR, OK(SECTOR), false},
	{"IN, 3 sectors", VIRTIO_BLK_T_IN, AT(5), 3 * SECTOR, OK(3 * SECTOR), false},
	{"IN, 128 sectors", VIRTIO_BLK_T_IN, AT(1), 65536, OK(65536), false},
	{"IN, last sector", VIRTIO_BLK_T_IN, LAST(1), SECTOR, OK(SECTOR), false},
	{"IN, last 8 sectors", VIRTIO_BLK_T_IN, LAST(8), 8 * SECTOR, OK(8 * SECTOR), false},
	{"IN, past the end", VIRTIO_BLK_T_IN, LAST(0), SECTOR, IOERR, false},
	{"IN, partly past the end", VIRTIO_BLK_T_IN, LAST(1), 2 * SECTOR, IOERR, false},
	{"IN, 128 sectors, one past the end", VIRTIO_BLK_T_IN, LAST(63), 32768, IOERR, false},
	{"IN, nothing at sector 2^63", VIRTIO_BLK_T_IN, AT(1ULL << 63), 0, IOERR, false},
	{"IN, sector 2^63", VIRTIO_BLK_T_IN, AT(1ULL << 63), SECTOR, IOERR, false},
	{"IN, sector 2^55, where bytes wrap", VIRTIO_BLK_T_IN, AT(1ULL << 55), SECTOR, IOERR,
	 false},
	{"IN, half a sector", VIRTIO_BLK_T_IN, AT(0), SECTOR / 2, IOERR, false},
	{"IN, 1 byte", VIRTIO_BLK_T_IN, AT(0), 1, IOERR, false},
	{"IN, a sector and a byte", VIRTIO_BLK_T_IN, AT(0), SECTOR + 1, IOERR, false},
	{"OUT, nothing", VIRTIO_BLK_T_OUT, AT(0), 0, OK(0), true},
	{"OUT, 1 sector", VIRTIO_BLK_T_OUT, AT(8), SECTOR, OK(0), true},
	{"OUT, 3 sectors", VIRTIO_BLK_T_OUT, AT(10), 3 * SECTOR, OK(0), true},
	{"OUT, 8 sectors", VIRTIO_BLK_T_OUT, AT(8), 8 * SECTOR, OK(0), true},
	{"OUT, past the end", VIRTIO_BLK_T_OUT, LAST(0), SECTOR, IOERR, false},
	{"OUT, partly past the end", VIRTIO_BLK_T_OUT, LAST(1), 2 * SECTOR, IOERR, false},
	{"OUT, sector 2^63", VIRTIO_BLK_T_OUT, AT(1ULL << 63), SECTOR, IOERR, false},
	{"OUT, sector 2^55, where bytes wrap", VIRTIO_BLK_T_OUT, AT(1ULL << 55), SECTOR, IOERR,
	 false},
	{"OUT, half a sector", VIRTIO_BLK_T_OUT, AT(8), SECTOR / 2, IOERR, false},
	{"FLUSH", VIRTIO_BLK_T_FLUSH, AT(0), 0, OK(0), false},
	{"FLUSH, a sector that means nothing", VIRTIO_BLK_T_FLUSH, AT(UINT64_MAX), 0, OK(0), false},
	{"GET_ID", VIRTIO_BLK_T_GET_ID, AT(0), 20, OK(20), false},
	{"GET_ID, a sector that means nothing", VIRTIO_BLK_T_GET_ID, AT(UINT64_MAX), 20, OK(20),
	 false},
	{"GET_ID, more room than it takes", VIRTIO_BLK_T_GET_ID, AT(0), 4096, OK(20), false},
	{"GET_ID, 21 bytes", VIRTIO_BLK_T_GET_ID, AT(0), 21, OK(20), false},
	{"GET_ID, 19 bytes", VIRTIO_BLK_T_GET_ID, AT(0), 19, IOERR, false},
	{"GET_ID, nothing", VIRTIO_BLK_T_GET_ID, AT(0), 0, IOERR, false},
	{"type 2, of the past", 2, AT(0), SECTOR, UNSUPP, false},
	{"type 3, unknown", 3, AT(0), SECTOR, UNSUPP, false},
	{"type 10, GET_LIFETIME, not offered", 10, AT(0), SECTOR, UNSUPP, false},
	{"type 14, SECURE_ERASE, not offered", 14, AT(0), SECTOR, UNSUPP, false},
	{"type 99, unknown", 0x99, AT(0), SECTOR, UNSUPP, false},
	{"type 99, without data", 0x99, AT(0), 0, UNSUPP, false},
	{"type 2^31 + 0, no barrier bit", 0x80000000, AT(0), SECTOR, UNSUPP, false},
	{"type 2^32 - 1, unknown", UINT32_MAX, AT(UINT64_MAX), SECTOR, UNSUPP, false},
};

/* Guards on both sides; all of the data where the status is not OK. */
static bool guards__whole(const char *buf, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != GUARD)
			return false;
	return true;
}

static void request__one(struct blk *blk, const struct request_case *c, char *buf)
{
	bool ro = virtio__has(&blk->dev, VIRTIO_BLK_F_RO);
	bool refused = ro && c->type == VIRTIO_BLK_T_OUT;
	uint64_t sector = c->from_end ? blk->capacity - c->sector : c->sector;
	uint32_t used = 0, want = refused ? 1 : c->used, len = c->len + 8;
	int status, right = refused ? VIRTIO_BLK_S_IOERR : c->status;

	if (c->writes && !ro && !cmdline__num("write", 0))
		return;
	if (c->type == VIRTIO_BLK_T_FLUSH && !virtio__has(&blk->dev, VIRTIO_BLK_F_FLUSH))
		return;
	memset(buf, GUARD, len + 8);
	if (c->writes)
		pattern__make(buf + 8, "written", sector, c->len / SECTOR);
	status = blk__request(blk, c->type, sector, buf + 8, c->len, &used);
	verdict__check(
		FAMILY,
		status == right && used == want && guards__whole(buf, 8) &&
			guards__whole(buf + len, 8) &&
			(c->writes || status == VIRTIO_BLK_S_OK || guards__whole(buf + 8, c->len)),
		"%s: status %d, used %u", c->name, status, used);
}

/*
 * 5.2.6.2, the segment of DISCARD and WRITE_ZEROES: sector, number, flags.  All
 * within sectors 8 to 15 where they are OK; the numbers of the device's limits
 * are left to itself.
 */
static const struct range_case {
	const char *name;
	bool from_end;
	uint64_t sector;
	uint32_t num, flags;
	uint32_t len; /* bytes of the segment that are sent */
	int discard, zeroes; /* status where the feature was negotiated */
} ranges[] = {
	{"no segment", AT(8), 8, 0, 0, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_OK},
	{"half a segment", AT(8), 8, 0, 8, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR},
	{"a segment and a byte", AT(8), 8, 0, 17, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR},
	{"more segments than max_seg", AT(8), 8, 0, 32, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR},
	{"no sectors", AT(8), 0, 0, 16, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_OK},
	{"8 sectors", AT(8), 8, 0, 16, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_OK},
	{"8 sectors, unmap", AT(8), 8, 1, 16, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_S_OK},
	{"unknown flag 2", AT(8), 8, 2, 16, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_S_UNSUPP},
	{"unknown flag 2^31", AT(8), 8, 1U << 31, 16, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_S_UNSUPP},
	{"all flags", AT(8), 8, UINT32_MAX, 16, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_S_UNSUPP},
	{"past the end", LAST(0), 8, 0, 16, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR},
	{"partly past the end", LAST(4), 8, 0, 16, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR},
	{"sector 2^63", AT(1ULL << 63), 8, 0, 16, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR},
	{"sector and number overflow", AT(UINT64_MAX - 3), 8, 0, 16, VIRTIO_BLK_S_IOERR,
	 VIRTIO_BLK_S_IOERR},
	{"2^32 - 1 sectors", AT(0), UINT32_MAX, 0, 16, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR},
};

static void range__one(struct blk *blk, const struct range_case *c, bool zeroes)
{
	static struct virtio_blk_discard_write_zeroes seg[2];
	bool ro = virtio__has(&blk->dev, VIRTIO_BLK_F_RO);
	bool has =
		virtio__has(&blk->dev, zeroes ? VIRTIO_BLK_F_WRITE_ZEROES : VIRTIO_BLK_F_DISCARD);
	int status, right = has ? (zeroes ? c->zeroes : c->discard) : VIRTIO_BLK_S_UNSUPP;
	uint64_t sector = c->from_end ? blk->capacity - c->sector : c->sector;
	uint32_t used = 0;

	seg[0] = (struct virtio_blk_discard_write_zeroes) {
		.sector = sector, .num_sectors = c->num, .flags = c->flags};
	seg[1] = seg[0];
	status = blk__request(blk, zeroes ? VIRTIO_BLK_T_WRITE_ZEROES : VIRTIO_BLK_T_DISCARD, 0,
			      seg, c->len, &used);
	verdict__check(FAMILY,
		       (status == right || (ro && status == VIRTIO_BLK_S_IOERR)) && used == 1,
		       "%s%s, %s: status %d, used %u", zeroes ? "WRITE_ZEROES" : "DISCARD",
		       has ? "" : " (not negotiated)", c->name, status, used);
}

/* Each by itself; the disk answers the next request as before. */
void request__check(struct blk *blk, char *buf)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		request__one(blk, &requests[i], buf);
	if (!virtio__has(&blk->dev, VIRTIO_BLK_F_RO) && !cmdline__num("write", 0))
		return;
	for (i = 0; i < 2 * ARRAY_SIZE(ranges); i++)
		range__one(blk, &ranges[i / 2], i & 1);
}
