// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring format makes no difference to a device: the same random requests, in
 * whatever descriptors, through a split and through a packed ring are the same
 * chains, and come back as the same used entries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/vqp_driver.h"

#define SIZE 64
#define ROUNDS 3000
#define MAX_SEG 48
#define PER_ROUND 8

struct both {
	struct vq_driver s;
	struct vqp_driver p;
	struct virtq s_ring, p_ring;
	unsigned int seed;
};

struct request {
	struct vq_seg seg[MAX_SEG];
	unsigned int nr, direct;
};

static unsigned int upto(struct both *b, unsigned int max)
{
	return rand_r(&b->seed) % (max + 1);
}

static void segment(struct request *req, uint64_t gpa, uint32_t len, bool write)
{
	req->seg[req->nr++] = (struct vq_seg) {gpa, len, write};
}

/* @len bytes from @gpa on, cut anywhere, with empty descriptors between. */
static void cut(struct both *b, struct request *req, uint64_t gpa, uint32_t len, bool write)
{
	unsigned int pieces = 1 + upto(b, 5);

	while (len) {
		uint32_t n = pieces > 1 && len > 1 ? 1 + upto(b, len - 2) : len;

		if (upto(b, 7) == 0)
			segment(req, gpa, 0, write);
		segment(req, gpa, n, write);
		gpa += n;
		len -= n;
		pieces -= pieces > 1;
	}
}

/* Header (at times byte by byte), data and status, as a block driver has them; some of it wrong. */
static struct request some_request(struct both *b)
{
	uint64_t gpa = VQD_DATA + upto(b, 0xffff);
	bool read = upto(b, 1);
	struct request req = {.nr = 0};
	unsigned int i;

	if (upto(b, 2)) {
		segment(&req, gpa, 16, false);
	} else {
		for (i = 0; i < 16; i++)
			segment(&req, gpa + i, 1, false);
	}
	if (upto(b, 9) == 0)
		gpa = VQD_END - 100; /* runs out of memory */
	cut(b, &req, gpa + 16, upto(b, 4096), read);
	segment(&req, VQD_DATA, 1, true);
	if (upto(b, 9) == 0)
		segment(&req, VQD_DATA, 1, upto(b, 1)); /* broken where it is readable */
	/* all direct, all in a table, or direct ones and a table behind them */
	req.direct = upto(b, 2) == 0 ? 0 : upto(b, 1) ? req.nr : upto(b, req.nr);
	return req;
}

static void restart(struct both *b)
{
	vqd__start_at(&b->s, upto(b, 0xffff));
	vqp__restart(&b->p);
	assert_int_equal(virtq__init(&b->s_ring, &b->s.mem, &b->s.layout), 0);
	assert_int_equal(virtq__init(&b->p_ring, &b->p.d.mem, &b->p.d.layout), 0);
}

/* Host pointers differ by where the two guest memories are. */
static ptrdiff_t place(const struct vq_driver *d, const void *ptr)
{
	return ptr ? (const char *)ptr - (const char *)d->mem.region[0].hva : -1;
}

static void same_chain(struct both *b, const struct virtq_chain *s, const struct virtq_chain *p)
{
	unsigned int i;

	assert_int_equal(s->head, p->head);
	assert_int_equal(s->fault, p->fault);
	assert_int_equal(s->nr_out, p->nr_out);
	assert_int_equal(s->nr_in, p->nr_in);
	assert_int_equal(s->out_len, p->out_len);
	assert_int_equal(s->in_len, p->in_len);
	assert_int_equal(place(&b->s, s->in_last), place(&b->p.d, p->in_last));
	for (i = 0; i < s->nr_out + s->nr_in; i++) {
		assert_int_equal(s->iov[i].iov_len, p->iov[i].iov_len);
		assert_int_equal(place(&b->s, s->iov[i].iov_base),
				 place(&b->p.d, p->iov[i].iov_base));
	}
}

static int same_pop(struct both *b, uint16_t *head)
{
	struct iovec s_iov[VIRTQ_CHAIN_IOV(SIZE)], p_iov[VIRTQ_CHAIN_IOV(SIZE)];
	struct virtq_chain s = {.iov = s_iov, .iov_max = VIRTQ_CHAIN_IOV(SIZE)};
	struct virtq_chain p = {.iov = p_iov, .iov_max = VIRTQ_CHAIN_IOV(SIZE)};
	int ret = virtq__pop(&b->s_ring, &s);

	assert_int_equal(virtq__pop(&b->p_ring, &p), ret);
	assert_int_equal(b->s_ring.in_flight, b->p_ring.in_flight);
	if (ret == 1)
		same_chain(b, &s, &p);
	*head = s.head;
	return ret;
}

/*
 * Some requests in each, as many as fit; the split ring's descriptors are taken
 * from the front, so that a head is the same number as the packed buffer id.
 */
static unsigned int put(struct both *b)
{
	unsigned int next = 0, nr;

	for (nr = 0; nr < PER_ROUND; nr++) {
		struct request req = some_request(b);
		unsigned int descs = req.direct < req.nr ? req.direct + 1 : req.nr;

		if (next + descs > SIZE || !vqp__put(&b->p, next, req.seg, req.nr, req.direct))
			break;
		vqd__chain(&b->s, next, req.seg, req.nr, req.direct);
		vqd__put(&b->s, next);
		next += descs;
	}
	vqd__publish(&b->s);
	return nr;
}

/* Back in a random order; @nr heads. */
static void give_back(struct both *b, uint16_t *heads, unsigned int nr)
{
	uint32_t s_id, s_len, p_id, p_len;

	while (nr) {
		unsigned int i = upto(b, nr - 1), len = upto(b, 4096);

		virtq__push(&b->s_ring, heads[i], len);
		virtq__push(&b->p_ring, heads[i], len);
		heads[i] = heads[--nr];
		if (upto(b, 3) == 0) {
			virtq__show(&b->s_ring);
			virtq__show(&b->p_ring);
		}
	}
	virtq__show(&b->s_ring);
	virtq__show(&b->p_ring);
	while (vqd__get(&b->s, &s_id, &s_len)) {
		assert_true(vqp__get(&b->p, &p_id, &p_len));
		assert_int_equal(s_id, p_id);
		assert_int_equal(s_len, p_len);
	}
	assert_false(vqp__has_used(&b->p));
}

static void test_same(void **state)
{
	struct both *b = calloc(1, sizeof(*b));
	unsigned int round, chains = 0, broken = 0;

	(void)state;
	assert_non_null(b);
	b->seed = 7;
	vqd__init(&b->s, SIZE, true);
	vqp__init(&b->p, SIZE, true);
	restart(b);
	for (round = 0; round < ROUNDS; round++) {
		uint16_t heads[PER_ROUND];
		unsigned int nr = put(b), i;
		int ret = 0;

		for (i = 0; i < nr; i++) {
			ret = same_pop(b, &heads[i]);
			if (ret < 0)
				break;
			assert_int_equal(ret, 1);
		}
		chains += i;
		if (ret < 0) {
			broken++;
			restart(b);
			continue;
		}
		assert_int_equal(same_pop(b, &(uint16_t) {0}), 0);
		give_back(b, heads, nr);
	}
	print_message("%u chains, %u broken\n", chains, broken);
	assert_true(chains > ROUNDS && broken > ROUNDS / 20);
	vqd__fini(&b->s);
	vqp__fini(&b->p);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};

	return cmocka_run_group_tests_name("split and packed rings", tests, NULL, NULL);
}
