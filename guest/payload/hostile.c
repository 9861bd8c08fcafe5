// SPDX-License-Identifier: GPL-2.0-only
#include "hostile.h"

#define IGNORED_MS 5 /* how long nothing has to happen */

static uint64_t hostile__features(void)
{
	return VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) | VIRTIO_BIT(VIRTIO_BLK_F_MQ) |
	       VIRTIO_BIT(VIRTIO_BLK_F_DISCARD) | VIRTIO_BIT(VIRTIO_BLK_F_WRITE_ZEROES) |
	       virtio__ring_words();
}

void hostile__reopen(struct hostile *h)
{
	if (!blk__open(&h->d.blk[0], 0, hostile__features(), VIRTIO_MSI_NO_VECTOR))
		panic("the first disk has gone");
}

bool hostile__open(struct hostile *h)
{
	if (!disks__open(&h->d))
		return false;
	hostile__reopen(h);
	h->out = mem__alloc(HOSTILE_AREA, PAGE_SIZE);
	h->copy = mem__alloc(HOSTILE_AREA, PAGE_SIZE);
	h->in = mem__alloc(HOSTILE_AREA, PAGE_SIZE);
	h->area = mem__alloc(PAGE_SIZE, PAGE_SIZE);
	h->table = mem__alloc(HOSTILE_SEGS * sizeof(struct vring_desc), 16);
	return true;
}

bool hostile__packed(const struct hostile *h)
{
	return virtio__has(&h->d.blk[0].dev, VIRTIO_F_RING_PACKED);
}

bool hostile__has_tables(const struct hostile *h)
{
	return virtio__has(&h->d.blk[0].dev, VIRTIO_RING_F_INDIRECT_DESC);
}

void hostile__begin(struct hostile *h, uint32_t type, uint64_t sector)
{
	struct virtio_blk_outhdr header = {.type = type, .sector = sector};

	memset(h->out, 0x77, HOSTILE_AREA);
	memset(h->in, HOSTILE_GUARD, HOSTILE_AREA);
	memset(h->area, HOSTILE_GUARD, PAGE_SIZE);
	memcpy(h->out, &header, sizeof(header));
	h->status = h->area + PAGE_SIZE / 2;
	h->nr = 0;
	h->table_len = 0;
	h->legal = 0;
	h->spoil = NULL;
}

void hostile__seg(struct hostile *h, uint64_t addr, uint32_t len, uint16_t flags)
{
	if (h->nr == HOSTILE_SEGS)
		panic("more than %u descriptors", HOSTILE_SEGS);
	h->seg[h->nr++] = (struct ring_seg) {(const void *)addr, len, flags};
}

void hostile__header(struct hostile *h)
{
	hostile__seg(h, (uintptr_t)h->out, sizeof(struct virtio_blk_outhdr), 0);
}

void hostile__status(struct hostile *h)
{
	hostile__seg(h, (uintptr_t)h->status, 1, VRING_DESC_F_WRITE);
}

static void hostile__send(struct hostile *h)
{
	struct ring *ring = &h->d.blk[0].ring;
	uint32_t len = h->table_len ? h->table_len : h->nr * sizeof(struct vring_desc);
	struct ring_seg ref = {h->table, len, VRING_DESC_F_INDIRECT};

	*h->status = BLK_NO_STATUS;
	memcpy(h->copy, h->out, HOSTILE_AREA);
	if (h->indirect)
		ring->ops->table(h->table, h->seg, h->nr);
	ring__prepare(ring, 0, h->indirect ? &ref : h->seg, h->indirect ? 1 : h->nr);
	ring__add(ring, 0);
	if (h->spoil)
		h->spoil(h, ring);
	ring__expose(ring);
	(void)ring->ops->wants_kick(ring);
	ring__notify(ring);
}

static bool hostile__broken(const struct hostile *h)
{
	return virtio__status(&h->d.blk[0].dev) & VIRTIO_CONFIG_S_NEEDS_RESET;
}

/* What happens; where the ring is broken, chains in front of that may come back first. */
static enum verdict hostile__outcome(struct hostile *h, unsigned int expected,
				     struct ring_used *used)
{
	uint64_t end = time__deadline(expected & VERDICT_IGNORED ? IGNORED_MS : HANG_MS);

	do {
		if (hostile__broken(h))
			return VERDICT_NEEDS_RESET;
		if (expected != VERDICT_NEEDS_RESET && ring__get(&h->d.blk[0].ring, used))
			return VERDICT_COMPLETED;
		cpu__relax();
	} while (time__tsc() < end);
	return VERDICT_IGNORED;
}

static bool all_guard(const uint8_t *p, const uint8_t *end)
{
	while (p < end)
		if (*p++ != HOSTILE_GUARD)
			return false;
	return true;
}

/* Only the status byte and the data of a good answer may have been written. */
static bool hostile__guards(const struct hostile *h, enum verdict got, const struct ring_used *used)
{
	bool ok = got == VERDICT_COMPLETED && *h->status == VIRTIO_BLK_S_OK;
	uint32_t data = ok && used->len ? used->len - 1 : h->legal;
	const uint8_t *middle = h->area + PAGE_SIZE / 2;

	if (h->elsewhere)
		data = 0;
	return data <= HOSTILE_AREA && all_guard(h->in + data, h->in + HOSTILE_AREA) &&
	       all_guard(h->area, middle) && (h->status == middle || *middle == HOSTILE_GUARD) &&
	       all_guard(middle + 1, h->area + PAGE_SIZE) && !memcmp(h->out, h->copy, HOSTILE_AREA);
}

/* Back in service: after a reset where there was no answer, on the same queue otherwise. */
static bool hostile__alive(struct hostile *h, enum verdict got)
{
	bool quiet = got == VERDICT_NEEDS_RESET || !hostile__broken(h);

	if (got != VERDICT_COMPLETED)
		hostile__reopen(h);
	return quiet && disks__reads(&h->d, 0, HOSTILE_READS) == HOSTILE_READS &&
	       !hostile__broken(h) && disks__read_ok(&h->d, 1);
}

void hostile__run(struct hostile *h, const char *family, const char *name, const char *section,
		  const struct hostile_want *want)
{
	struct ring_used used = {0};
	const char *why = "";
	enum verdict got;
	uint8_t status;

	hostile__send(h);
	got = hostile__outcome(h, want->verdict, &used);
	status = *h->status;
	if (!(want->verdict & got))
		why = " (another outcome)";
	else if (got == VERDICT_COMPLETED && (status != want->status || used.len != want->used))
		why = " (status or length)";
	else if (got == VERDICT_IGNORED && status != BLK_NO_STATUS)
		why = " (not ignored)";
	else if (!hostile__guards(h, got, &used))
		why = " (guards)";
	if (!hostile__alive(h, got))
		why = " (not alive)";
	if (*why)
		print("hostile: outcome %u, status %u of %d, length %u of %u\n", got, status,
		      want->status, used.len, want->used);
	verdict__f(family, want->verdict, *why ? VERDICT_FAILED : got, "%s, %s ring%s [%s]%s", name,
		   h->d.blk[0].ring.ops->name, h->indirect ? ", table" : "", section, why);
}
