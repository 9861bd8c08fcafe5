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
#include <errno.h>
#include <time.h>

#include "blk_model.h"
#include "virtio/blk.h"

/* Where things are, unless the input puts them elsewhere. */
#define DESC A_BASE
#define AVAIL (A_BASE + 0x100)
#define USED (A_BASE + 0x140)
#define TABLES (A_BASE + 0x200) /* an indirect table of 8 entries for each slot */
#define DATA (A_BASE + 0x800)

struct rig {
	struct guest_mem mem;
	struct disk disk;
	struct virtio_blk blk;
	struct virtio_queue *q;
	uint8_t image[DISK_BYTES], fresh[DISK_BYTES]; /* the disk, and as it is at the start */
	/* the engine */
	struct disk_req *staged[SIZE_MAX_RING], *running[SIZE_MAX_RING];
	unsigned int nr_staged, nr_running, hold;
	bool writeback;
	unsigned int fails;
	/* the driver */
	uint16_t put; /* split: entries put; packed: position */
	uint16_t next_desc; /* split */
	uint32_t cursor; /* for buffers, from DATA on */
	struct blk_model model;
};

static struct rig rig;

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

/* Time stands still for an I/O thread that runs here. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ts);
	*ts = (struct timespec) {.tv_sec = 1};
	return 0;
}

/* ---- transport and engine ---- */

static bool transport_signal(struct virtio_dev *dev, struct virtio_queue *queue)
{
	(void)dev;
	(void)queue;
	return true;
}

static void stop(void)
{
	atomic_store(&rig.q->state, VIRTIO_QUEUE_STOPPING);
}

static void transport_fail(struct virtio_dev *dev)
{
	(void)dev;
	rig.fails++;
	stop();
}

static const struct virtio_transport_ops transport = {
	.signal = transport_signal,
	.needs_reset = transport_fail,
};

static int engine_init(struct disk_queue *q, struct lk_err *err)
{
	(void)q;
	(void)err;
	return 0;
}

static void engine_fini(struct disk_queue *q)
{
	(void)q;
}

static void engine_queue(struct disk_queue *q, struct disk_req *req)
{
	(void)q;
	FUZZ_CHECK(rig.nr_staged < SIZE_MAX_RING);
	rig.staged[rig.nr_staged++] = req;
}

static int transfer(struct disk_req *req)
{
	uint8_t *image = rig.image + req->offset;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < req->nr_iov; i++)
		sum += req->iov[i].iov_len;
	FUZZ_CHECK(sum == req->len);
	if (req->offset == rig.model.fail_offset)
		return -EIO;
	for (unsigned int i = 0; i < req->nr_iov; i++) {
		const struct iovec *v = &req->iov[i];

		if (req->op == DISK_READ)
			memcpy(v->iov_base, image, v->iov_len);
		else
			memcpy(image, v->iov_base, v->iov_len);
		image += v->iov_len;
	}
	return 0;
}

static int execute(struct disk_req *req)
{
	if (req->op == DISK_FLUSH)
		return 0;
	FUZZ_CHECK(req->len && req->offset <= DISK_BYTES && req->len <= DISK_BYTES - req->offset);
	FUZZ_CHECK(req->op == DISK_READ || !rig.disk.read_only);
	if (req->op == DISK_WRITE || req->op == DISK_WRITE_ZEROES)
		FUZZ_CHECK(req->durable == !rig.writeback);
	if (req->op == DISK_READ || req->op == DISK_WRITE)
		return transfer(req);
	memset(rig.image + req->offset, req->op == DISK_DISCARD ? DISCARDED : 0, req->len);
	return 0;
}

static void engine_submit(struct disk_queue *q)
{
	(void)q;
	for (unsigned int i = 0; i < rig.nr_staged; i++) {
		FUZZ_CHECK(rig.nr_running < SIZE_MAX_RING);
		rig.staged[i]->res = execute(rig.staged[i]);
		rig.running[rig.nr_running++] = rig.staged[i];
	}
	rig.nr_staged = 0;
}

/* The newest first, and only some at a time where the input says so. */
static struct disk_req *engine_reap(struct disk_queue *q)
{
	(void)q;
	if (!rig.nr_running)
		return NULL;
	if (rig.hold) {
		rig.hold--;
		return NULL;
	}
	return rig.running[--rig.nr_running];
}

/* Where the thread would sleep: with nothing to do it has come to its end. */
static uint64_t engine_wait(struct disk_queue *q, int64_t timeout)
{
	(void)q;
	FUZZ_CHECK(timeout < 0 && !rig.nr_staged);
	if (!rig.nr_running) {
		FUZZ_CHECK(rig.fails || !virtq__pending(&rig.q->ring));
		stop();
	}
	return 0;
}

static const struct disk_engine_ops engine = {
	.name = "fuzz",
	.init = engine_init,
	.fini = engine_fini,
	.queue = engine_queue,
	.submit = engine_submit,
	.reap = engine_reap,
	.wait = engine_wait,
};

static void *alloc_ram(size_t size)
{
	void *p = aligned_alloc(4096, size);

	if (!p)
		abort();
	return p;
}

static void set_up(void)
{
	struct virtio_blk_params params = {
		.disk = &rig.disk,
		.mem = &rig.mem,
		.nr_queues = 1,
		.queue_size = SIZE_MAX_RING,
		.serial = "0123456789abcdefghij",
	};

	rig.mem.nr = 2;
	rig.mem.region[0] = (struct guest_region) {A_BASE, A_SIZE, alloc_ram(A_SIZE)};
	rig.mem.region[1] = (struct guest_region) {B_BASE, B_SIZE, alloc_ram(B_SIZE)};
	rig.disk = (struct disk) {
		.path = (char *)"fuzz",
		.fd = -1,
		.size = DISK_BYTES,
		.geo = {512, 512, 512, 1, 1},
		.engine = &engine,
		.limits = {.discard_max = 512 * DISCARD_MAX,
			   .discard_align = 512,
			   .zeroes_max = 512 * ZEROES_MAX,
			   .zeroes_unmap = true},
	};
	FUZZ_CHECK(!virtio_blk__init(&rig.blk, &params, NULL));
	rig.blk.dev.transport = &transport;
	rig.q = &rig.blk.dev.queues[0];
	for (unsigned int i = 0; i < DISK_BYTES; i++)
		rig.fresh[i] = i / 512 + i * 7;
	memcpy(rig.model.serial, params.serial, VIRTIO_BLK_ID_BYTES);
}

/* ---- the ring and the device, as the input says ---- */

static void start_device(struct fuzz_in *in)
{
	struct blk_model *m = &rig.model;
	unsigned int shape = fuzz__take(in, 1);
	uint64_t features = 0;

	m->read_only = (shape & 7) == 7;
	m->block = shape & 8 ? 1024 : 512;
	m->has_discard = shape & 0x10 && !m->read_only;
	m->has_zeroes = shape & 0x20 && !m->read_only;
	m->fail_offset = shape & 0x40 ? 1024 : UINT64_MAX;
	features |= m->has_discard ? 1ULL << VIRTIO_BLK_F_DISCARD : 0;
	features |= m->has_zeroes ? 1ULL << VIRTIO_BLK_F_WRITE_ZEROES : 0;
	features |= shape & 1 ? 1ULL << VIRTIO_BLK_F_FLUSH : 0;
	features |= shape & 2 ? 1ULL << VIRTIO_BLK_F_CONFIG_WCE : 0;
	rig.writeback = shape & 1;
	rig.disk.read_only = m->read_only;
	rig.disk.geo.logical_block = m->block;
	virtio_dev__set_features(&rig.blk.dev, 0);
	virtio_dev__set_features(&rig.blk.dev, features | 1ULL << VIRTIO_F_VERSION_1);
	rig.blk.tuning.batch = shape & 0x80 ? 2 : 0;
	rig.blk.tuning.no_suppress = shape & 0x80;
	memcpy(m->disk, rig.fresh, DISK_BYTES);
	memcpy(rig.image, rig.fresh, DISK_BYTES);
}

static struct image *live(void)
{
	static struct image copy;

	memcpy(copy.a, rig.mem.region[0].hva, A_SIZE);
	memcpy(copy.b, rig.mem.region[1].hva, B_SIZE);
	return &copy;
}

static uint8_t *at(uint64_t gpa)
{
	return (uint8_t *)rig.mem.region[0].hva + (gpa - A_BASE);
}

static bool start_ring(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);
	struct blk_model *m = &rig.model;
	struct virtq_layout layout;
	uint16_t first;

	m->packed = shape & 1;
	m->indirect = shape & 2;
	m->size = m->packed ? (shape >> 3 & 15) + 1 : 2U << (shape >> 3 & 3) % 4;
	m->desc = DESC;
	m->avail = shape & 0x80 ? A_BASE + A_SIZE - 6 - 2 * m->size : AVAIL;
	if (m->packed && shape & 0x80)
		m->avail = A_BASE + A_SIZE - 4;
	m->used = USED;
	memset(rig.mem.region[0].hva, 0, A_SIZE);
	memset(rig.mem.region[1].hva, 0, B_SIZE);
	first = m->packed ? 0 : fuzz__take(in, 2);
	memcpy(at(m->avail) + 2, &first, m->packed ? 0 : 2);
	memcpy(at(m->used) + 2, &first, m->packed ? 0 : 2);
	m->next_avail = rig.put = first;
	rig.next_desc = 0;
	rig.cursor = 0;
	layout = (struct virtq_layout) {
		.size = m->size,
		.packed = m->packed,
		.indirect = m->indirect,
		.event_idx = shape & 4,
		.desc = m->desc,
		.avail = m->avail,
		.used = m->used,
	};
	return !virtq__init(&rig.q->ring, &rig.mem, &layout);
}

/* ---- the driver ---- */

static void store(uint64_t gpa, const void *data, size_t len)
{
	void *p = guest_mem__ptr(&rig.mem, gpa, len);

	if (p)
		memcpy(p, data, len);
}

/* Descriptors of a chain into the ring; of a packed one the flags as the position has them. */
static void put_descs(const struct seg *seg, unsigned int nr, bool ref)
{
	struct blk_model *m = &rig.model;
	uint16_t head = rig.next_desc % m->size;

	for (unsigned int i = 0; i < nr; i++) {
		uint16_t flags = (i + 1 < nr ? VRING_DESC_F_NEXT : 0) |
				 (seg[i].write ? VRING_DESC_F_WRITE : 0) |
				 (ref ? VRING_DESC_F_INDIRECT : 0);
		unsigned int pos = rig.put % (2U * m->size);

		if (m->packed) {
			struct vring_packed_desc d = {seg[i].gpa, seg[i].len, head, flags};

			d.flags |= 1U << (pos < m->size ? VRING_PACKED_DESC_F_AVAIL
							: VRING_PACKED_DESC_F_USED);
			store(m->desc + 16 * (pos % m->size), &d, sizeof(d));
			rig.put = (pos + 1) % (2U * m->size);
		} else {
			unsigned int idx = (head + i) % m->size;
			struct vring_desc d = {seg[i].gpa, seg[i].len, flags, (idx + 1) % m->size};

			store(m->desc + 16 * idx, &d, sizeof(d));
		}
	}
	if (!m->packed) {
		store(m->avail + 4 + 2 * (rig.put % m->size), &head, 2);
		rig.put++;
		store(m->avail + 2, &rig.put, 2);
	}
	rig.next_desc = head + (m->packed ? 1 : nr);
}

/* The same through an indirect table. */
static void put_table(const struct seg *seg, unsigned int nr)
{
	uint64_t gpa = TABLES + rig.next_desc % 12 * 128;
	const struct seg ref = {gpa, 16 * nr, false};

	for (unsigned int i = 0; i < nr; i++) {
		struct vring_desc d = {
			.addr = seg[i].gpa,
			.len = seg[i].len,
			.flags = (i + 1 < nr && !rig.model.packed ? VRING_DESC_F_NEXT : 0) |
				 (seg[i].write ? VRING_DESC_F_WRITE : 0),
			.next = i + 1,
		};

		/* of a packed one the flags come last: 2.8.7 */
		if (rig.model.packed)
			d.next = d.flags;
		store(gpa + 16 * i, &d, sizeof(d));
	}
	put_descs(&ref, 1, true);
}

static uint64_t take_buffer(uint32_t len)
{
	uint64_t gpa;

	if (rig.cursor + len > A_SIZE - (DATA - A_BASE))
		rig.cursor = 0;
	gpa = DATA + rig.cursor;
	rig.cursor += len;
	return gpa;
}

/*
 * A request, whole or with something odd.  Shape: bit 7 an indirect table, 6 data
 * in two segments, 5 header and status in one more each, 4 data in region B.
 */
static void put_request(struct fuzz_in *in)
{
	static const uint32_t type[] = {VIRTIO_BLK_T_IN,      VIRTIO_BLK_T_OUT,
					VIRTIO_BLK_T_FLUSH,   VIRTIO_BLK_T_GET_ID,
					VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES,
					VIRTIO_BLK_T_IN,      99};
	static const uint16_t length[] = {512, 1024, 16, 20, 0, 513, 2048, 32};
	unsigned int shape = fuzz__take(in, 1), what = fuzz__take(in, 1);
	uint32_t len = length[what >> 3 & 7], part = shape & 0x40 ? len / 3 : 0;
	struct virtio_blk_outhdr hdr = {.type = type[what & 7], .sector = fuzz__take(in, 1)};
	bool write = hdr.type == VIRTIO_BLK_T_IN || hdr.type == VIRTIO_BLK_T_GET_ID;
	uint64_t head = take_buffer(sizeof(hdr)), status = take_buffer(1), data;
	struct seg seg[8];
	unsigned int nr = 0, cut = shape & 0x20 ? 1 + (shape & 7) : 0;

	hdr.sector ^= hdr.sector & 0x80 ? UINT64_MAX : 0;
	data = shape & 0x10 ? B_BASE + (shape & 15) * 16 : take_buffer(len);
	store(head, &hdr, sizeof(hdr));
	if (!write && (hdr.type == VIRTIO_BLK_T_DISCARD || hdr.type == VIRTIO_BLK_T_WRITE_ZEROES)) {
		struct virtio_blk_discard_write_zeroes range = {hdr.sector, what >> 6, shape & 1};

		store(data, &range, sizeof(range));
	}
	if (cut)
		seg[nr++] = (struct seg) {head, cut, false};
	seg[nr++] = (struct seg) {head + cut, sizeof(hdr) - cut, false};
	if (part)
		seg[nr++] = (struct seg) {data, part, write};
	if (len)
		seg[nr++] = (struct seg) {data + part, len - part, write};
	seg[nr++] = (struct seg) {status, 1, true};
	if (shape & 0x80)
		put_table(seg, nr);
	else
		put_descs(seg, nr, false);
}

/* A descriptor of the ring or of a table, all of it from the input. */
static void poke_desc(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);
	uint64_t gpa = (shape & 0x80 ? TABLES : DESC) + (shape & 31) * 16;
	static const uint64_t base[] = {DATA, A_BASE, B_BASE, 0};
	struct vring_desc d = {
		.addr = base[shape >> 5 & 3] + fuzz__take(in, 2),
		.len = fuzz__take(in, 2),
		.flags = fuzz__take(in, 2),
		.next = fuzz__take(in, 1),
	};

	if (d.len & 0x8000)
		d.len <<= 16;
	if ((shape >> 5 & 3) == 3)
		d.addr <<= 48;
	store(gpa, &d, sizeof(d));
}

static void poke(struct fuzz_in *in)
{
	uint64_t gpa = A_BASE + fuzz__take(in, 2) % A_SIZE, val;
	unsigned int len = 1 + fuzz__pick(in, 8);

	val = fuzz__take(in, len);
	store(gpa, &val, len);
}

/* ---- the device, and what it did ---- */

static bool overlap(uint64_t a, uint64_t len_a, uint64_t b, uint64_t len_b)
{
	return a < b + len_b && b < a + len_a;
}

static bool hits_ring(const struct blk_model *m, const struct seg *seg)
{
	uint64_t avail = m->packed ? 4 : 6 + 2 * m->size, used = m->packed ? 4 : 6 + 8 * m->size;

	if (overlap(seg->gpa, seg->len, m->desc, 16 * m->size) ||
	    overlap(seg->gpa, seg->len, m->avail, avail) ||
	    overlap(seg->gpa, seg->len, m->used, used))
		return true;
	for (unsigned int i = 0; i < m->nr_tables; i++)
		if (overlap(seg->gpa, seg->len, m->table[i].gpa, m->table[i].len))
			return true;
	return false;
}

/*
 * Does the device write where it also reads, or two requests where one does?
 * Then the outcome depends on the order, and the driver gets what it asked for.
 */
static bool is_entangled(const struct blk_model *m)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct chain *c = &m->chain[i];

		for (unsigned int s = c->nr_out; s < c->nr_out + c->nr_in; s++) {
			const struct seg *seg = &c->seg[s];

			if (seg->gpa + seg->len < seg->gpa || hits_ring(m, seg))
				return true;
			for (unsigned int j = 0; j < m->nr; j++)
				for (unsigned int t = 0;
				     j != i && t < m->chain[j].nr_out + m->chain[j].nr_in; t++)
					if (overlap(seg->gpa, seg->len, m->chain[j].seg[t].gpa,
						    m->chain[j].seg[t].len))
						return true;
		}
	}
	return false;
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
	struct image *now;

	rig.hold = fuzz__take(in, 1) & 3;
	memcpy(&m->mem, live(), sizeof(m->mem));
	blk_model__walk(m);
	if (is_entangled(m)) {
		serve();
		return false;
	}
	serve();
	settle_repeats(m, rig.q->stats.popped);
	FUZZ_CHECK(rig.fails == m->broken);
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
