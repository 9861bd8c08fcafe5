// SPDX-License-Identifier: GPL-2.0-only
/* virtio-blk requests: any framing, every mistake of a driver, configuration (virtio 1.2, 5.2). */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/blk_rig.h"

#include <cmocka.h> /* last: its fail() is a macro, and transports have a fail member */

#define OK VIRTIO_BLK_S_OK
#define IOERR VIRTIO_BLK_S_IOERR
#define UNSUPP VIRTIO_BLK_S_UNSUPP
#define UNTOUCHED 0xee
#define OUT_GPA VQD_DATA
#define IN_GPA (VQD_DATA + 0x10001) /* odd: nothing asks for alignment */
#define MAX_SEG 40
#define HANG_LIMIT 100 /* seconds for the whole program */

/*
 * One request: the readable and the writable bytes are each contiguous in
 * memory and cut into descriptors as the strings say ("1x16 0 512": sixteen of
 * one byte, an empty one, one of 512).
 */
struct request {
	const char *name;
	uint32_t type;
	uint64_t sector;
	const char *out, *in;
	uint8_t status; /* expected in the last writable byte */
	uint32_t used; /* expected length in the used ring */
};

struct layout {
	struct vq_seg seg[MAX_SEG];
	unsigned int nr;
	uint32_t out_len, in_len;
};

static uint32_t cut(struct layout *l, const char *text, uint64_t gpa, bool write)
{
	uint32_t total = 0;
	int n;

	for (; *text; text += n) {
		unsigned int len, count = 1;

		n = 0;
		if (sscanf(text, " %ux%u%n", &len, &count, &n) < 2 || !n) {
			count = 1;
			assert_int_equal(sscanf(text, " %u%n", &len, &n), 1);
		}
		while (count--) {
			assert_true(l->nr < MAX_SEG);
			l->seg[l->nr++] = (struct vq_seg) {gpa + total, len, write};
			total += len;
		}
	}
	return total;
}

static void check_data(struct blk_rig *r, const struct request *req, const struct layout *l,
		       const char *before)
{
	const char *out = vqd__ptr(&r->d, OUT_GPA);
	const char *in = vqd__ptr(&r->d, IN_GPA);
	uint32_t in_data = l->in_len ? l->in_len - 1 : 0;
	uint32_t i, got = 0;

	if (req->status == OK && req->type == VIRTIO_BLK_T_IN) {
		assert_memory_equal(in, r->image + req->sector * 512, in_data);
		got = in_data;
	}
	if (req->status == OK && req->type == VIRTIO_BLK_T_GET_ID) {
		assert_memory_equal(in, "0123456789abcdefghij", 20);
		got = 20;
	}
	for (i = got; i < in_data; i++) /* nothing else written */
		assert_int_equal((uint8_t)in[i], UNTOUCHED);

	if (req->status == OK && req->type == VIRTIO_BLK_T_OUT && l->in_len) {
		assert_memory_equal(r->image + req->sector * 512, out + 16, l->out_len - 16);
		memcpy(r->image + req->sector * 512, before + req->sector * 512, l->out_len - 16);
	}
	assert_memory_equal(r->image, before, RIG_DISK);
}

/* The request, cut at @direct into a direct chain and an indirect table, and a good read after it. */
static void run_one(struct blk_rig *r, const struct request *req, const struct layout *l,
		    unsigned int direct)
{
	const struct virtio_blk_outhdr hdr = {htole32(req->type), 0, htole64(req->sector)};
	uint8_t *out = vqd__ptr(&r->d, OUT_GPA), *in = vqd__ptr(&r->d, IN_GPA);
	char before[RIG_DISK];
	uint32_t id, len, i;

	memcpy(before, r->image, RIG_DISK);
	memset(in, UNTOUCHED, 8192);
	for (i = 0; i < 8192; i++)
		out[i] = 0xa5 ^ i ^ (i >> 8);
	memcpy(out, &hdr, sizeof(hdr));

	rig__put(r, 1, l->seg, l->nr, direct);
	rig__publish(r);
	rig__run(r, 1);

	assert_true(rig__get(r, &id, &len));
	assert_int_equal(id, 1);
	assert_int_equal(len, req->used);
	if (l->in_len)
		assert_int_equal(in[l->in_len - 1], req->status);
	assert_int_equal(in[l->in_len], UNTOUCHED);
	check_data(r, req, l, before);
	assert_int_equal(r->fails, 0);

	rig__request(r, 60, VIRTIO_BLK_T_IN, 8, 512); /* slot 20, behind the buffers above */
	rig__publish(r);
	rig__run(r, 1);
	assert_true(rig__get(r, &id, &len));
	assert_int_equal(id, 60);
	assert_int_equal(*rig__status(r, 60), 512 % r->disk.geo.logical_block ? IOERR : OK);
}

static void run_ring(struct blk_rig *r, const struct request *t, unsigned int nr)
{
	unsigned int i, direct;
	uint64_t errors = r->q->stats.errors;

	for (i = 0; i < nr; i++) {
		struct layout l = {.nr = 0};

		print_message("%s: %s\n", r->d.layout.packed ? "packed" : "split", t[i].name);
		l.out_len = cut(&l, t[i].out, OUT_GPA, false);
		l.in_len = cut(&l, t[i].in, IN_GPA, true);
		for (direct = 0; direct <= l.nr; direct++) {
			run_one(r, &t[i], &l, direct);
			errors += t[i].status != OK;
			errors += 512 % r->disk.geo.logical_block != 0;
		}
	}
	assert_int_equal(r->q->stats.errors, errors);
	assert_int_equal(r->q->stats.popped, r->q->stats.completed);
	assert_int_equal(r->q->ring.in_flight, 0);
}

/* In both formats of rings: the requests are the same (2.7.4, 2.8.6). */
static void run_table(struct blk_rig *r, const struct request *t, unsigned int nr)
{
	run_ring(r, t, nr);
	rig__pack(r);
	run_ring(r, t, nr);
	rig__free(r);
}

#define RUN_TABLE(r, t) run_table(r, t, sizeof(t) / sizeof((t)[0]))
#define T_IN VIRTIO_BLK_T_IN
#define T_OUT VIRTIO_BLK_T_OUT
#define T_FLUSH VIRTIO_BLK_T_FLUSH
#define T_ID VIRTIO_BLK_T_GET_ID

/* 2.7.4.1: a device assumes no particular arrangement.  Used length: data and status. */
static void test_framing(void **state)
{
	static const struct request t[] = {
		{"usual read", T_IN, 3, "16", "512 1", OK, 513},
		{"usual write", T_OUT, 3, "16 512", "1", OK, 1},
		{"header in 16 pieces", T_IN, 3, "1x16", "512 1", OK, 513},
		{"header and data in one", T_OUT, 3, "528", "1", OK, 1},
		{"header cut, rest with data", T_OUT, 3, "7 521", "1", OK, 1},
		{"header and first byte in one", T_OUT, 3, "17 511", "1", OK, 1},
		{"data and status in one", T_IN, 3, "16", "513", OK, 513},
		{"data in 1 511 3 509", T_IN, 3, "16", "1 511 3 509 1", OK, 1025},
		{"last piece with status", T_IN, 3, "16", "1 511 3 510", OK, 1025},
		{"write in 1 511 3 509", T_OUT, 3, "16 1 511 3 509", "1", OK, 1},
		{"empty ones between", T_IN, 3, "0 7 0 9 0", "0 512 0 1 0", OK, 513},
		{"empty ones in a write", T_OUT, 3, "0 16 0 512 0", "0 1", OK, 1},
		{"id in 20 pieces", T_ID, 0, "16", "1x20 1", OK, 21},
		{"id and status in one", T_ID, 0, "16", "21", OK, 21},
		{"flush", T_FLUSH, 0, "16", "1", OK, 1},
		{"flush, header in two", T_FLUSH, 0, "8 8", "1", OK, 1},
	};

	(void)state;
	RUN_TABLE(rig__new(64, 512, false), t);
}

static void test_mistakes(void **state)
{
	static const struct request t[] = {
		{"head only", T_IN, 0, "16", "", IOERR, 0},
		{"write without status", T_OUT, 0, "528", "", IOERR, 0},
		{"nothing at all", T_IN, 0, "0", "0", IOERR, 0},
		{"no header", T_IN, 0, "", "512 1", IOERR, 1},
		{"header of 15 bytes", T_IN, 0, "15", "512 1", IOERR, 1},
		{"header of 15 pieces", T_IN, 0, "1x15", "512 1", IOERR, 1},
		{"511 bytes", T_IN, 0, "16", "511 1", IOERR, 1},
		{"513 bytes", T_IN, 0, "16", "513 1", IOERR, 1},
		{"511 bytes and status in one", T_IN, 0, "16", "512", IOERR, 1},
		{"write of 100 bytes", T_OUT, 0, "116", "1", IOERR, 1},
		{"read with readable data", T_IN, 0, "16 512", "512 1", IOERR, 1},
		{"write with writable data", T_OUT, 0, "528", "5 1", IOERR, 1},
		{"read without data", T_IN, 5, "16", "1", OK, 1},
		{"write without data", T_OUT, 5, "16", "1", OK, 1},
		{"flush with data", T_FLUSH, 99999, "16 512", "1", OK, 1},
		{"id without data", T_ID, 0, "16", "1", IOERR, 1},
		{"id of 19", T_ID, 0, "16", "19 1", IOERR, 1},
		{"id of 20", T_ID, 0, "16", "20 1", OK, 21},
		{"id of 21", T_ID, 0, "16", "21 1", OK, 21},
		{"id of 4096", T_ID, 0, "16", "4096 1", OK, 21},
		{"type 3", 3, 0, "16", "1", UNSUPP, 1},
		{"discard", VIRTIO_BLK_T_DISCARD, 0, "32", "1", UNSUPP, 1},
		{"write zeroes", VIRTIO_BLK_T_WRITE_ZEROES, 0, "32", "1", UNSUPP, 1},
		{"write with barrier", 0x80000001, 0, "528", "1", UNSUPP, 1},
		{"type of all ones", 0xffffffff, 0, "16", "512 1", UNSUPP, 1},
	};

	(void)state;
	RUN_TABLE(rig__new(64, 512, false), t);
}

/* 64 KiB: sectors 0 to 127. */
static void test_range(void **state)
{
	static const struct request t[] = {
		{"last sector", T_IN, 127, "16", "512 1", OK, 513},
		{"write to the last sector", T_OUT, 127, "528", "1", OK, 1},
		{"one past", T_IN, 128, "16", "512 1", IOERR, 1},
		{"write one past", T_OUT, 128, "528", "1", IOERR, 1},
		{"last sector and one past", T_IN, 127, "16", "1024 1", IOERR, 1},
		{"nothing at the end", T_IN, 128, "16", "1", OK, 1},
		{"nothing past the end", T_IN, 129, "16", "1", IOERR, 1},
		{"sector 2^64 - 1", T_IN, UINT64_MAX, "16", "1024 1", IOERR, 1},
		{"sector * 512 wraps to 0", T_IN, 1ULL << 55, "16", "512 1", IOERR, 1},
		{"write, sector * 512 wraps", T_OUT, 1ULL << 55, "528", "1", IOERR, 1},
	};

	(void)state;
	RUN_TABLE(rig__new(64, 512, false), t);
}

/* With blocks of 4 KiB a request is a whole number of them. */
static void test_large_block(void **state)
{
	static const struct request t[] = {
		{"8 sectors at 8", T_IN, 8, "16", "512 3584 1", OK, 4097},
		{"write 8 at 8", T_OUT, 8, "16 4096", "1", OK, 1},
		{"1 sector at 8", T_IN, 8, "16", "512 1", IOERR, 1},
		{"8 sectors at 3", T_IN, 3, "16", "4096 1", IOERR, 1},
		{"write 3 sectors at 7", T_OUT, 7, "1552", "1", IOERR, 1},
	};

	(void)state;
	RUN_TABLE(rig__new(64, 4096, false), t);
}

static void test_read_only(void **state)
{
	static const struct request t[] = {
		{"read", T_IN, 3, "16", "512 1", OK, 513},
		{"write", T_OUT, 3, "528", "1", IOERR, 1},
		{"write without data", T_OUT, 3, "16", "1", IOERR, 1},
		{"flush", T_FLUSH, 0, "16", "1", OK, 1},
		{"id", T_ID, 0, "16", "20 1", OK, 21},
		{"discard", VIRTIO_BLK_T_DISCARD, 0, "32", "1", UNSUPP, 1},
	};
	struct blk_rig *r = rig__new(64, 512, true);

	(void)state;
	assert_true(r->blk.dev.offered & (1ULL << VIRTIO_BLK_F_RO));
	assert_true(r->blk.dev.offered & (1ULL << VIRTIO_BLK_F_FLUSH));
	assert_false(r->blk.dev.offered & (1ULL << VIRTIO_BLK_F_CONFIG_WCE)); /* of no use */
	/* the driver did not accept the bit, nor FLUSH */
	virtio_dev__set_features(&r->blk.dev, 1ULL << VIRTIO_F_VERSION_1);
	RUN_TABLE(r, t);
}

struct outside {
	const char *name;
	uint32_t type;
	struct vq_seg data, status;
	uint8_t result;
	uint32_t used;
};

static void run_outside(struct blk_rig *r, const struct outside *t)
{
	const struct vq_seg seg[] = {{OUT_GPA, 16, false}, t->data, t->status};
	const struct virtio_blk_outhdr hdr = {htole32(t->type), 0, 0};
	uint64_t last = t->status.gpa + t->status.len - 1;
	uint8_t *tail = vqd__ptr(&r->d, VQD_END - 512);
	char before[RIG_DISK];
	uint32_t id, len, k;

	print_message("%s: %s\n", r->d.layout.packed ? "packed" : "split", t->name);
	memcpy(before, r->image, RIG_DISK);
	memset(vqd__ptr(&r->d, IN_GPA), UNTOUCHED, 513);
	memset(tail, UNTOUCHED, 512);
	memcpy(vqd__ptr(&r->d, OUT_GPA), &hdr, sizeof(hdr));
	rig__put(r, 0, seg, 3, 3);
	rig__publish(r);
	rig__run(r, 1);
	assert_true(rig__get(r, &id, &len));
	assert_int_equal(len, t->used);
	if (last < VQD_END)
		assert_int_equal(*(uint8_t *)vqd__ptr(&r->d, last), t->result);
	for (k = 0; k < 512 && t->result != OK; k++)
		assert_int_equal(tail[k], UNTOUCHED);
	assert_memory_equal(r->image, before, RIG_DISK);
}

/* Memory that is not there: IOERR if the status byte is, and nothing is read or written. */
static void test_outside_memory(void **state)
{
	static const struct outside t[] = {
		{"data to the last byte", T_IN, {VQD_END - 512, 512, 1}, {IN_GPA, 1, 1}, OK, 513},
		{"data one byte over", T_IN, {VQD_END - 511, 512, 1}, {IN_GPA, 1, 1}, IOERR, 1},
		{"source one byte over", T_OUT, {VQD_END - 511, 512, 0}, {IN_GPA, 1, 1}, IOERR, 1},
		{"data of 4 GiB", T_IN, {VQD_DATA, 0xfffffe00, 1}, {IN_GPA, 1, 1}, IOERR, 1},
		{"status in the last byte", T_IN, {IN_GPA, 512, 1}, {VQD_END - 1, 1, 1}, OK, 513},
		{"status one byte over", T_IN, {IN_GPA, 512, 1}, {VQD_END, 1, 1}, UNTOUCHED, 0},
		{"runs into memory",
		 T_IN,
		 {0, 0, 1},
		 {VQD_BASE + 0x3ff00 - 0x50000, 0x50001, 1},
		 IOERR,
		 1},
	};
	struct blk_rig *r = rig__new(64, 512, false);
	unsigned int i, pass;

	(void)state;
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
			run_outside(r, &t[i]);
		if (!pass)
			rig__pack(r);
	}
	assert_int_equal(r->fails, 0);
	rig__free(r);
}

static void test_config(void **state)
{
	struct blk_rig *r = rig__new(128, 512, false);
	struct virtio_blk_config c;
	uint16_t half;

	(void)state;
	assert_int_equal(r->blk.dev.config_size, sizeof(c));
	r->blk.dev.ops->config_read(&r->blk.dev, 0, &c, sizeof(c));
	assert_int_equal(le64toh(c.capacity), RIG_DISK / 512);
	assert_int_equal(le32toh(c.seg_max), 126); /* header and status take two */
	assert_int_equal(le32toh(c.blk_size), 512);
	assert_int_equal(c.physical_block_exp, 3); /* 4096 / 512 = 2^3 */
	assert_int_equal(c.alignment_offset, 0);
	assert_int_equal(le16toh(c.min_io_size), 8);
	assert_int_equal(le32toh(c.opt_io_size), 128); /* 65536 / 512 */
	assert_int_equal(le16toh(c.num_queues), 1);
	/* part of a field: bytes 2 and 3 of the capacity */
	r->blk.dev.ops->config_read(&r->blk.dev, 2, &half, 2);
	assert_int_equal(half, 0);
	assert_int_equal(r->blk.dev.ops->id, 2);
	assert_int_equal(r->blk.dev.offered,
			 1 << VIRTIO_BLK_F_SEG_MAX | 1 << VIRTIO_BLK_F_BLK_SIZE |
				 1 << VIRTIO_BLK_F_TOPOLOGY | 1 << VIRTIO_BLK_F_FLUSH |
				 1 << VIRTIO_BLK_F_CONFIG_WCE);
	rig__free(r);
}

static void test_params(void **state)
{
	static const struct {
		unsigned int queues;
		uint16_t size;
		const char *serial;
		int ret;
	} t[] = {
		{1, 16, NULL, 0},	 {16, 1024, "", 0},
		{0, 128, NULL, -EINVAL}, {17, 128, NULL, -EINVAL},
		{1, 8, NULL, -EINVAL},	 {1, 2048, NULL, -EINVAL},
		{1, 100, NULL, -EINVAL}, {1, 128, "123456789012345678901", -EINVAL},
	};
	struct blk_rig *r = rig__new(16, 512, false); /* for its disk */
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct virtio_blk_params p = {.disk = &r->disk,
					      .mem = &r->d.mem,
					      .nr_queues = t[i].queues,
					      .queue_size = t[i].size,
					      .serial = t[i].serial};
		struct virtio_blk blk;
		struct lk_err err = {{0}};

		assert_int_equal(virtio_blk__init(&blk, &p, &err), t[i].ret);
		assert_int_equal(err.msg[0] != '\0', t[i].ret != 0);
		if (t[i].ret)
			continue;
		assert_int_equal(!!(blk.dev.offered & 1 << VIRTIO_BLK_F_MQ), t[i].queues > 1);
		virtio_blk__fini(&blk);
	}
	rig__free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_framing),	  cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_range),	  cmocka_unit_test(test_large_block),
		cmocka_unit_test(test_read_only), cmocka_unit_test(test_outside_memory),
		cmocka_unit_test(test_config),	  cmocka_unit_test(test_params),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtio-blk requests", tests, NULL, NULL);
}
