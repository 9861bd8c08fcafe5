// SPDX-License-Identifier: GPL-2.0-only
/* Discard and write zeroes as the driver asks for them: virtio 1.2, 5.2.5, 5.2.6.1, 5.2.6.2. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/unit/blk_rig.h"

#include <cmocka.h> /* last: its fail() is a macro, and transports have a fail member */

#define OK VIRTIO_BLK_S_OK
#define IOERR VIRTIO_BLK_S_IOERR
#define UNSUPP VIRTIO_BLK_S_UNSUPP
#define DISCARD VIRTIO_BLK_T_DISCARD
#define ZEROES VIRTIO_BLK_T_WRITE_ZEROES
#define UNMAP VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP
#define SECTORS (RIG_DISK / 512) /* 128 */
#define MAX_DISCARD 64
#define MAX_ZEROES 32
#define HANG_LIMIT 100 /* seconds for the whole program */

static struct blk_rig *rig_with(uint32_t block, bool offered)
{
	struct blk_rig *r = rig__new(64, block, false);
	struct virtio_blk_params params = {
		.disk = &r->disk, .mem = &r->d.mem, .nr_queues = 1, .queue_size = 64};

	/* the same device once more, on a disk that can do it */
	virtio_blk__fini(&r->blk);
	if (offered)
		r->disk.limits =
			(struct disk_limits) {MAX_DISCARD * 512, 4096, MAX_ZEROES * 512, true};
	assert_int_equal(virtio_blk__init(&r->blk, &params, NULL), 0);
	r->blk.dev.transport = &rig_transport;
	r->blk.dev.transport_data = r;
	virtio_dev__set_features(&r->blk.dev, r->blk.dev.offered);
	r->q = &r->blk.dev.queues[0];
	atomic_store(&r->q->vector, 0);
	assert_int_equal(virtq__init(&r->q->ring, &r->d.mem, &r->d.layout), 0);
	return r;
}

struct range_request {
	const char *name;
	uint32_t type;
	uint64_t sector;
	uint32_t nr, flags;
	uint8_t status;
};

/*
 * Header and range in @out bytes from the start, cut after @cut of them, then
 * @in bytes besides the status.  The used length is the status alone.
 */
static void run_one(struct blk_rig *r, const struct range_request *t, uint32_t out, uint32_t cut,
		    uint32_t in, uint8_t status)
{
	const struct virtio_blk_outhdr hdr = {htole32(t->type), 0, UINT64_MAX};
	const struct virtio_blk_discard_write_zeroes range = {htole64(t->sector), htole32(t->nr),
							      htole32(t->flags)};
	const struct vq_seg seg[] = {{VQD_DATA, cut, false},
				     {VQD_DATA + cut, out - cut, false},
				     {VQD_DATA + 0x1001, in + 1, true}};
	uint8_t *answer = vqd__ptr(&r->d, VQD_DATA + 0x1001 + in);
	char before[RIG_DISK];
	uint32_t id, len;
	unsigned int i;

	memcpy(before, r->image, RIG_DISK);
	memcpy(vqd__ptr(&r->d, VQD_DATA), &hdr, sizeof(hdr));
	for (i = 0; i < 3; i++) /* more than one range, where @out says so */
		memcpy(vqd__ptr(&r->d, VQD_DATA + sizeof(hdr) + i * sizeof(range)), &range,
		       sizeof(range));
	*answer = 0xee;
	r->range_seen = 0;
	rig__put(r, 1, seg, 3, cut % 4);
	rig__publish(r);
	rig__run(r, 1);
	assert_true(rig__get(r, &id, &len));
	assert_int_equal(len, 1);
	assert_int_equal(*answer, status);
	if (r->range_seen) { /* what the engine has done to the image is right */
		assert_int_equal(status, OK);
		assert_int_equal(r->range_unmap, t->flags & UNMAP);
		memset(before + t->sector * 512, t->type == DISCARD ? RIG_DISCARDED : 0,
		       t->nr * 512);
	}
	assert_memory_equal(r->image, before, RIG_DISK);
}

#define WHOLE 32 /* header and one range */

static void run_ring(struct blk_rig *r, const struct range_request *t, unsigned int nr)
{
	unsigned int i, cut;

	for (i = 0; i < nr; i++) {
		print_message("%s\n", t[i].name);
		for (cut = 0; cut <= WHOLE; cut++) {
			run_one(r, &t[i], WHOLE, cut, 0, t[i].status);
			assert_int_equal(r->range_seen, t[i].status == OK && t[i].nr ? 1 : 0);
		}
	}
	assert_int_equal(r->fails, 0);
}

/* In both formats of rings: the requests are the same (2.7.4, 2.8.6). */
static void run_table(struct blk_rig *r, const struct range_request *t, unsigned int nr)
{
	run_ring(r, t, nr);
	rig__pack(r);
	run_ring(r, t, nr);
	rig__free(r);
}

#define RUN_TABLE(r, t) run_table(r, t, sizeof(t) / sizeof((t)[0]))

static void test_ranges(void **state)
{
	static const struct range_request t[] = {
		{"discard", DISCARD, 8, 16, 0, OK},
		{"zeroes", ZEROES, 8, 16, 0, OK},
		{"zeroes, unmap", ZEROES, 40, 8, UNMAP, OK},
		{"one sector", ZEROES, 3, 1, 0, OK},
		{"the last sector", DISCARD, SECTORS - 1, 1, 0, OK},
		{"as many as announced", DISCARD, 0, MAX_DISCARD, 0, OK},
		{"one more", DISCARD, 0, MAX_DISCARD + 1, 0, IOERR},
		{"as many zeroes as announced", ZEROES, 96, MAX_ZEROES, 0, OK},
		{"one more zero", ZEROES, 0, MAX_ZEROES + 1, 0, IOERR},
		{"none at all", ZEROES, 5, 0, 0, OK},
		{"none at the end", DISCARD, SECTORS, 0, 0, OK},
		{"none past the end", DISCARD, SECTORS + 1, 0, 0, IOERR},
		{"one past the end", DISCARD, SECTORS, 1, 0, IOERR},
		{"across the end", ZEROES, SECTORS - 1, 2, 0, IOERR},
		{"sector 2^64 - 1", ZEROES, UINT64_MAX, 1, 0, IOERR},
		{"sector + number wraps", ZEROES, UINT64_MAX, 32, 0, IOERR},
		{"bytes wrap", DISCARD, 1ULL << 55, 1, 0, IOERR},
		{"2^32 - 1 sectors", DISCARD, 0, UINT32_MAX, 0, IOERR},
		/* 5.2.6.2 */
		{"unmap in a discard", DISCARD, 8, 16, UNMAP, UNSUPP},
		{"unknown flag in a discard", DISCARD, 8, 16, 2, UNSUPP},
		{"unknown flag in zeroes", ZEROES, 8, 16, 2, UNSUPP},
		{"unmap and an unknown flag", ZEROES, 8, 16, UNMAP | 0x80000000, UNSUPP},
		{"unknown flag and no sectors", ZEROES, 8, 0, 4, UNSUPP},
	};

	(void)state;
	RUN_TABLE(rig_with(512, true), t);
}

static void test_large_block(void **state)
{
	static const struct range_request t[] = {
		{"a block", DISCARD, 8, 8, 0, OK},
		{"zeroes in two blocks", ZEROES, 16, 16, UNMAP, OK},
		{"a part of a block", DISCARD, 8, 4, 0, IOERR},
		{"not at a block", ZEROES, 4, 8, 0, IOERR},
	};

	(void)state;
	RUN_TABLE(rig_with(4096, true), t);
}

/* Neither offered: a read-only disk, say. */
static void test_not_offered(void **state)
{
	static const struct range_request t[] = {
		{"discard", DISCARD, 8, 16, 0, UNSUPP},
		{"zeroes", ZEROES, 8, 16, 0, UNSUPP},
	};
	struct blk_rig *r = rig_with(512, false);

	(void)state;
	assert_false(r->blk.dev.offered &
		     (1ULL << VIRTIO_BLK_F_DISCARD | 1ULL << VIRTIO_BLK_F_WRITE_ZEROES));
	RUN_TABLE(r, t);
}

static void test_not_accepted(void **state)
{
	static const struct range_request t[] = {
		{"discard", DISCARD, 8, 16, 0, UNSUPP},
		{"zeroes", ZEROES, 8, 16, 0, OK},
	};
	struct blk_rig *r = rig_with(512, true);

	(void)state;
	virtio_dev__set_features(&r->blk.dev, r->blk.dev.offered & ~(1ULL << VIRTIO_BLK_F_DISCARD));
	RUN_TABLE(r, t);
}

/* Lengths other than one range. */
static void test_lengths(void **state)
{
	static const struct range_request t = {"", ZEROES, 8, 8, 0, OK};
	static const struct {
		uint32_t out, in;
		uint8_t status;
	} len[] = {
		{WHOLE, 0, OK},	       {16, 0, OK} /* no range */,
		{WHOLE - 1, 0, IOERR}, {WHOLE + 1, 0, IOERR},
		{17, 0, IOERR},	       {48, 0, IOERR} /* two ranges */,
		{64, 0, IOERR},	       {WHOLE, 1, IOERR},
		{16, 512, IOERR},
	};
	struct blk_rig *r = rig_with(512, true);
	unsigned int i, pass;

	(void)state;
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
			run_one(r, &t, len[i].out, 9, len[i].in, len[i].status);
			assert_int_equal(r->range_seen, len[i].out == WHOLE && !len[i].in ? 1 : 0);
		}
		if (!pass)
			rig__pack(r);
	}
	rig__free(r);
}

static void test_write_through_and_errors(void **state)
{
	static const struct range_request zeroes = {"", ZEROES, 8, 8, 0, OK};
	static const struct range_request discard = {"", DISCARD, 8, 8, 0, OK};
	const uint64_t both = 1ULL << VIRTIO_BLK_F_DISCARD | 1ULL << VIRTIO_BLK_F_WRITE_ZEROES;
	struct blk_rig *r = rig_with(512, true);

	(void)state;
	run_one(r, &zeroes, WHOLE, 16, 0, OK);
	assert_int_equal(r->durables, 0);
	virtio_dev__set_features(&r->blk.dev, both); /* without FLUSH */
	run_one(r, &zeroes, WHOLE, 16, 0, OK);
	assert_int_equal(r->durables, 1);
	run_one(r, &discard, WHOLE, 16, 0, OK);
	assert_int_equal(r->durables, 1); /* there is nothing to keep */

	r->fail_offset = 8 * 512;
	run_one(r, &zeroes, WHOLE, 16, 0, IOERR);
	run_one(r, &discard, WHOLE, 16, 0, IOERR);
	rig__free(r);
}

static void test_config(void **state)
{
	struct blk_rig *r = rig_with(512, true);
	struct virtio_blk_config c;

	(void)state;
	r->blk.dev.ops->config_read(&r->blk.dev, 0, &c, sizeof(c));
	assert_int_equal(le32toh(c.max_discard_sectors), MAX_DISCARD);
	assert_int_equal(le32toh(c.max_discard_seg), 1);
	assert_int_equal(le32toh(c.discard_sector_alignment), 8); /* 4096 / 512 */
	assert_int_equal(le32toh(c.max_write_zeroes_sectors), MAX_ZEROES);
	assert_int_equal(le32toh(c.max_write_zeroes_seg), 1);
	assert_int_equal(c.write_zeroes_may_unmap, 1);
	rig__free(r);

	r = rig_with(512, false);
	r->blk.dev.ops->config_read(&r->blk.dev, 0, &c, sizeof(c));
	assert_int_equal(c.max_discard_sectors | c.max_discard_seg | c.max_write_zeroes_sectors |
				 c.max_write_zeroes_seg | c.write_zeroes_may_unmap,
			 0);
	rig__free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),	    cmocka_unit_test(test_large_block),
		cmocka_unit_test(test_not_offered), cmocka_unit_test(test_not_accepted),
		cmocka_unit_test(test_lengths),	    cmocka_unit_test(test_write_through_and_errors),
		cmocka_unit_test(test_config),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtio-blk discard", tests, NULL, NULL);
}
