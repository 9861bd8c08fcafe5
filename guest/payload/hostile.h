/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_HOSTILE_H
#define PAYLOAD_HOSTILE_H

#include "disks.h"
#include "verdict.h"

/*
 * Cases of a driver that breaks the rules.  Disk 0 gets the chain, disk 1 has
 * to go on.  A case is: hostile__begin(), hostile__seg() for each descriptor,
 * hostile__run(), which sends the chain, waits for what comes of it, and looks
 * at all that must not have changed.
 */
#define HOSTILE_SEGS 320
#define HOSTILE_AREA (4 * PAGE_SIZE)
#define HOSTILE_GUARD 0x5a
#define HOSTILE_READS 8 /* good ones on the queue after each case */

struct hostile {
	struct disks d;
	uint8_t *out; /* header and what follows; never to be written */
	uint8_t *copy; /* of out, as it was sent */
	uint8_t *in; /* data of a read, guards behind */
	uint8_t *area; /* the status byte is in the middle of guards */
	uint8_t *status;
	void *table; /* the indirect one */
	uint32_t table_len; /* what its descriptor says; 0: as long as it is */
	struct ring_seg seg[HOSTILE_SEGS];
	unsigned int nr;
	bool indirect;
	bool elsewhere; /* data are not read into in */
	uint32_t legal; /* bytes of data that may be there when the ring is found broken */
	uint64_t which; /* of its kind: for spoil */
	void (*spoil)(struct hostile *h,
		      struct ring *ring); /* after it was added, before it shows */
};

/* What is right; status BLK_NO_STATUS: the head goes back with length 0 and no status. */
struct hostile_want {
	unsigned int verdict;
	int status;
	uint32_t used;
};

#define WANT_OK(n)                                    \
	{                                             \
		VERDICT_COMPLETED, VIRTIO_BLK_S_OK, n \
	}
#define WANT_IOERR                                       \
	{                                                \
		VERDICT_COMPLETED, VIRTIO_BLK_S_IOERR, 1 \
	}
#define WANT_UNSUPP                                       \
	{                                                 \
		VERDICT_COMPLETED, VIRTIO_BLK_S_UNSUPP, 1 \
	}
#define WANT_RETURNED                               \
	{                                           \
		VERDICT_COMPLETED, BLK_NO_STATUS, 0 \
	}
#define WANT_RESET                        \
	{                                 \
		VERDICT_NEEDS_RESET, 0, 0 \
	}
#define WANT_IGNORED                  \
	{                             \
		VERDICT_IGNORED, 0, 0 \
	}

/* False: fewer than two disks. */
bool hostile__open(struct hostile *h);
void hostile__reopen(struct hostile *h);

void hostile__begin(struct hostile *h, uint32_t type, uint64_t sector);
void hostile__seg(struct hostile *h, uint64_t addr, uint32_t len, uint16_t flags);

/* The three of a plain request. */
void hostile__header(struct hostile *h);
void hostile__status(struct hostile *h);

/* @section: of virtio 1.2, where what is right comes from. */
void hostile__run(struct hostile *h, const char *family, const char *name, const char *section,
		  const struct hostile_want *want);

bool hostile__packed(const struct hostile *h);
bool hostile__has_tables(const struct hostile *h);

/* The families: test_hostile_*.c */
void hostile__memory(struct hostile *h);
void hostile__requests(struct hostile *h);
void hostile__ranges(struct hostile *h);
void hostile__tables(struct hostile *h);
void hostile__split(struct hostile *h);
void hostile__packed_ring(struct hostile *h);
void hostile__edges(struct hostile *h);
void hostile__sharing(struct hostile *h);
void hostile__shapes(struct hostile *h);

#endif
