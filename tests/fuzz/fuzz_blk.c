// SPDX-License-Identifier: GPL-2.0-only
/*
 * A virtio-blk queue, split or packed, and a driver that does anything: the I/O
 * thread's function runs here over a disk in memory.  Each head that is taken
 * comes back once, with the right length; status and data are right, and no
 * other byte of guest memory has changed.  blk_model.h says what is right.
 *
 * Input: how ring and device are set up, then what the driver does.
 *
 * options: -max_len=256
 * wrapped: clock_gettime
 */
#include "blk_driver.h"

static bool overlap(uint64_t a, uint64_t len_a, uint64_t b, uint64_t len_b)
{
	return a < b + len_b && b < a + len_a;
}

/* Where the device writes of its own accord. */
static bool hits_used(const struct blk_model *m, uint64_t gpa, uint64_t len)
{
	return overlap(gpa, len, m->used, m->packed ? 4 : 6 + 8 * m->size) ||
	       (m->packed && overlap(gpa, len, m->desc, 16 * m->size));
}

/* Where it reads what to do. */
static bool hits_ring(const struct blk_model *m, uint64_t gpa, uint64_t len)
{
	if (overlap(gpa, len, m->desc, 16 * m->size) ||
	    overlap(gpa, len, m->avail, m->packed ? 4 : 6 + 2 * m->size))
		return true;
	for (unsigned int i = 0; i < m->nr_tables; i++)
		if (overlap(gpa, len, m->table[i].gpa, m->table[i].len))
			return true;
	return false;
}

static bool hits_other(const struct blk_model *m, unsigned int i, const struct seg *seg)
{
	for (unsigned int j = 0; j < m->nr; j++) {
		const struct chain *c = &m->chain[j];

		for (unsigned int t = 0; j != i && t < c->nr_out + c->nr_in; t++)
			if (overlap(seg->gpa, seg->len, c->seg[t].gpa, c->seg[t].len))
				return true;
	}
	return false;
}

/*
 * Does the device write where it also reads, or two requests where one does?
 * Then the outcome depends on the order, and the driver gets what it asked for.
 */
enum tangle {
	TANGLE_NONE,
	TANGLE_DATA, /* what is in the buffers cannot be said */
	TANGLE_RING, /* neither what the requests are */
};

static enum tangle find_tangle(const struct blk_model *m, unsigned int i, const struct seg *seg)
{
	bool used = hits_used(m, seg->gpa, seg->len);

	if (seg->gpa + seg->len < seg->gpa)
		return TANGLE_RING;
	if (!seg->write)
		return used ? TANGLE_DATA : TANGLE_NONE;
	if (used || hits_ring(m, seg->gpa, seg->len))
		return TANGLE_RING;
	return hits_other(m, i, seg) ? TANGLE_DATA : TANGLE_NONE;
}

static enum tangle find_tangles(const struct blk_model *m)
{
	enum tangle worst = TANGLE_NONE;

	for (unsigned int i = 0; i < m->nr_tables; i++)
		if (hits_used(m, m->table[i].gpa, m->table[i].len))
			return TANGLE_RING;
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct chain *c = &m->chain[i];

		for (unsigned int s = 0; s < c->nr_out + c->nr_in; s++) {
			enum tangle t = find_tangle(m, i, &c->seg[s]);

			worst = t > worst ? t : worst;
		}
	}
	return worst;
}

static bool may_change(const struct blk_model *m, uint64_t gpa)
{
	if (hits_used(m, gpa, 1))
		return true;
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct chain *c = &m->chain[i];

		for (unsigned int s = c->nr_out; s < c->nr_out + c->nr_in; s++)
			if (overlap(gpa, 1, c->seg[s].gpa, c->seg[s].len))
				return true;
	}
	return false;
}

static void check_region(const struct blk_model *m, uint64_t gpa, const uint8_t *now,
			 const uint8_t *before, size_t size)
{
	const size_t piece = 256;

	for (size_t at = 0; at < size; at += piece) {
		if (!memcmp(now + at, before + at, piece))
			continue;
		for (size_t i = at; i < at + piece; i++)
			FUZZ_CHECK(now[i] == before[i] || may_change(m, gpa + i));
	}
}

/* Only writable buffers and the used ring are not as they were. */
static void check_changes(const struct blk_model *m, const struct image *now)
{
	check_region(m, A_BASE, now->a, m->mem.a, A_SIZE);
	check_region(m, B_BASE, now->b, m->mem.b, B_SIZE);
}

static void find_chain(struct blk_model *m, uint32_t head, uint32_t len, unsigned int *descs)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		struct chain *c = &m->chain[i];

		if (c->done || c->head != head || c->used_len != len)
			continue;
		c->done = true;
		*descs = c->descs;
		return;
	}
	FUZZ_CHECK(!"in the used ring is what was not taken, or with another length");
}

/* The used ring names each chain once; what the device wrote there goes into the model. */
static void check_used_split(struct blk_model *m, struct image *now)
{
	unsigned int descs;

	for (unsigned int i = 0; i < m->nr; i++) {
		unsigned int slot = (uint16_t)(m->next_avail + i) % m->size;
		uint64_t gpa = m->used + 4 + 8 * slot;
		struct vring_used_elem *elem = image__ptr(now, gpa, sizeof(*elem));

		find_chain(m, elem->id, elem->len, &descs);
		memcpy(image__ptr(&m->mem, gpa, 8), elem, 8);
	}
	m->next_avail += m->nr;
	/* with nothing to show it is not written */
	FUZZ_CHECK(!m->nr || image__u16(now, m->used + 2) == m->next_avail);
	memcpy(image__ptr(&m->mem, m->used, 4), image__ptr(now, m->used, 4), 4);
	memcpy(image__ptr(&m->mem, m->used + 4 + 8 * m->size, 2),
	       image__ptr(now, m->used + 4 + 8 * m->size, 2), 2);
}

static void check_used_packed(struct blk_model *m, struct image *now)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		uint64_t gpa = m->desc + 16 * (m->next_avail % m->size);
		bool wrap = m->next_avail < m->size;
		struct vring_packed_desc d;
		unsigned int descs = 0;

		memcpy(&d, image__ptr(now, gpa, sizeof(d)), sizeof(d));
		FUZZ_CHECK((d.flags >> VRING_PACKED_DESC_F_AVAIL & 1) == wrap);
		FUZZ_CHECK((d.flags >> VRING_PACKED_DESC_F_USED & 1) == wrap);
		FUZZ_CHECK(!(d.flags & VRING_DESC_F_WRITE) == !d.len);
		find_chain(m, d.id, d.len, &descs);
		memcpy(image__ptr(&m->mem, gpa + 8, 8), &d.len, 8);
		m->next_avail = (m->next_avail + descs) % (2U * m->size);
	}
	memcpy(image__ptr(&m->mem, m->used, 4), image__ptr(now, m->used, 4), 4);
}

/* A head that is made available while it is in flight breaks the ring; later it does not. */
static void settle_repeats(struct blk_model *m, unsigned int popped)
{
	for (unsigned int i = 0; i < popped; i++)
		FUZZ_CHECK(i < m->nr);
	if (popped == m->nr)
		return;
	FUZZ_CHECK(rig.fails);
	for (unsigned int i = 0; i < popped; i++) {
		if (m->chain[i].head != m->chain[popped].head)
			continue;
		m->nr = popped;
		m->broken = true;
		return;
	}
	FUZZ_CHECK(!"the ring was found broken where it is not");
}

static void serve(void)
{
	const struct virtio_blk_queue *bq = rig.q->priv;

	rig.q->stats = (struct virtio_queue_stats) {0};
	atomic_store(&rig.q->state, VIRTIO_QUEUE_RUNNING);
	virtio_blk_queue__run(rig.q);
	atomic_store(&rig.q->state, VIRTIO_QUEUE_IDLE);
	FUZZ_CHECK(!rig.nr_staged && !rig.nr_running && !bq->engine.in_flight);
	FUZZ_CHECK(!rig.q->ring.in_flight && bq->nr_free == bq->nr_fresh);
	FUZZ_CHECK(rig.q->stats.popped == rig.q->stats.completed);
}

/* False: the ring is broken, or nothing can be said of what comes next. */
static bool run(struct fuzz_in *in)
{
	struct blk_model *m = &rig.model;
	enum tangle tangle;
	struct image *now;

	rig.hold = fuzz__take(in, 1) & 3;
	memcpy(&m->mem, live(), sizeof(m->mem));
	blk_model__walk(m);
	tangle = find_tangles(m);
	serve();
	if (tangle == TANGLE_RING)
		return false;
	settle_repeats(m, rig.q->stats.popped);
	FUZZ_CHECK(rig.fails == m->broken);
	if (tangle == TANGLE_DATA) {
		check_changes(m, live());
		return false;
	}
	for (unsigned int i = 0; i < m->nr; i++)
		blk_model__serve(m, i);
	now = live();
	if (m->packed)
		check_used_packed(m, now);
	else
		check_used_split(m, now);
	FUZZ_CHECK(!memcmp(now, &m->mem, sizeof(m->mem)));
	FUZZ_CHECK(!memcmp(rig.image, m->disk, DISK_BYTES));
	return !m->broken;
}

static void write_wce(uint8_t val)
{
	unsigned int off = offsetof(struct virtio_blk_config, wce);

	rig.blk.dev.ops->config_write(&rig.blk.dev, off, &val, 1);
	if (virtio_dev__has(&rig.blk.dev, VIRTIO_BLK_F_CONFIG_WCE))
		rig.writeback = val;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	struct virtio_blk_queue *bq;
	bool go_on;

	if (!rig.q)
		set_up();
	bq = rig.q->priv;
	bq->nr_free = bq->nr_fresh = 0;
	rig.fails = 0;
	start_device(&in);
	go_on = start_ring(&in);
	FUZZ_CHECK(go_on);
	while (go_on && fuzz__more(&in)) {
		unsigned int op = fuzz__take(&in, 1);

		switch (op & 7) {
		case 0:
		case 1:
		case 2:
			put_request(&in);
			break;
		case 3:
			poke_desc(&in);
			break;
		case 4:
			poke(&in);
			break;
		case 5:
			write_wce(op >> 3 & 1);
			break;
		default:
			go_on = run(&in);
		}
	}
	if (go_on)
		run(&in);
	return 0;
}
