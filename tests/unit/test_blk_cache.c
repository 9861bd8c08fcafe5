// SPDX-License-Identifier: GPL-2.0-only
/* The cache mode of a virtio-blk disk: virtio 1.2, 5.2.5.2 and 5.2.6.2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/unit/blk_rig.h"

#include <cmocka.h> /* last: its fail() is a macro, and transports have a fail member */

#define FLUSH (1ULL << VIRTIO_BLK_F_FLUSH)
#define WCE (1ULL << VIRTIO_BLK_F_CONFIG_WCE)
#define WCE_OFFSET offsetof(struct virtio_blk_config, wce)
#define HANG_LIMIT 100 /* seconds for the whole program */

static struct blk_rig *rig_with(enum disk_cache cache)
{
	struct blk_rig *r = rig__new(64, 512, false);
	struct virtio_blk_params params = {
		.disk = &r->disk, .mem = &r->d.mem, .nr_queues = 1, .queue_size = 64};

	/* the same device once more, on a disk of that mode */
	virtio_blk__fini(&r->blk);
	r->disk.cache = cache;
	assert_int_equal(virtio_blk__init(&r->blk, &params, NULL), 0);
	r->blk.dev.transport = &rig_transport;
	r->blk.dev.transport_data = r;
	r->q = &r->blk.dev.queues[0];
	atomic_store(&r->q->vector, 0);
	assert_int_equal(virtq__init(&r->q->ring, &r->d.mem, &r->d.layout), 0);
	return r;
}

static void accept(struct blk_rig *r, uint64_t features)
{
	virtio_dev__set_features(&r->blk.dev, 0); /* reset */
	virtio_dev__set_features(&r->blk.dev, features | 1ULL << VIRTIO_F_VERSION_1);
}

static unsigned int get_wce(struct blk_rig *r)
{
	uint8_t val = 0xee;

	r->blk.dev.ops->config_read(&r->blk.dev, WCE_OFFSET, &val, 1);
	return val;
}

static void set_wce(struct blk_rig *r, uint8_t val)
{
	r->blk.dev.ops->config_write(&r->blk.dev, WCE_OFFSET, &val, 1);
}

/* One read and two writes, the second of which fails: how many were asked to be durable? */
static unsigned int durable_writes(struct blk_rig *r)
{
	unsigned int i;
	uint32_t id, len;

	r->durables = 0;
	r->fail_offset = 2 * 512;
	for (i = 0; i < 3; i++)
		rig__request(r, 3 * i, i ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, i, 512);
	vqd__publish(&r->d);
	rig__run(r, 3);
	while (vqd__get(&r->d, &id, &len))
		assert_int_equal(*rig__status(r, id),
				 id == 6 ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK);
	assert_int_equal(r->flushes, 0); /* durable by itself, not by a flush behind it */
	return r->durables;
}

static void test_by_features(void **state)
{
	static const struct {
		enum disk_cache cache;
		uint64_t features;
		unsigned int writeback;
	} t[] = {
		{DISK_CACHE_WRITEBACK, 0, 0},
		{DISK_CACHE_WRITEBACK, FLUSH, 1},
		{DISK_CACHE_WRITEBACK, WCE, 0}, /* 5.2.5.2: MUST initialize writeback to 0 */
		{DISK_CACHE_WRITEBACK, FLUSH | WCE, 1},
		{DISK_CACHE_NONE, 0, 0},
		{DISK_CACHE_NONE, FLUSH | WCE, 1},
		{DISK_CACHE_UNSAFE, FLUSH | WCE, 1},
		{DISK_CACHE_WRITETHROUGH, 0, 0},
		{DISK_CACHE_WRITETHROUGH, FLUSH, 1}, /* such a driver assumes a cache (5.2.5.1) */
		{DISK_CACHE_WRITETHROUGH, WCE, 0},
		{DISK_CACHE_WRITETHROUGH, FLUSH | WCE, 0},
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct blk_rig *r = rig_with(t[i].cache);
		unsigned int host = t[i].cache == DISK_CACHE_WRITETHROUGH;

		print_message("cache %d, features %llx\n", t[i].cache,
			      (unsigned long long)t[i].features);
		accept(r, t[i].features);
		if (t[i].features & WCE)
			assert_int_equal(get_wce(r), t[i].writeback);
		/* what the host promises is the engine's to keep, whatever the driver chose */
		if (host)
			assert_int_equal(durable_writes(r), 2);
		else if (t[i].cache != DISK_CACHE_UNSAFE)
			assert_int_equal(durable_writes(r), t[i].writeback ? 0 : 2);
		else
			assert_int_equal(durable_writes(r), 0);
		rig__free(r);
	}
}

static void test_switched_by_the_driver(void **state)
{
	struct blk_rig *r = rig_with(DISK_CACHE_WRITEBACK);

	(void)state;
	accept(r, FLUSH | WCE);
	assert_int_equal(durable_writes(r), 0);
	set_wce(r, 0);
	assert_int_equal(get_wce(r), 0);
	assert_int_equal(durable_writes(r), 2);
	set_wce(r, 1);
	assert_int_equal(get_wce(r), 1);
	assert_int_equal(durable_writes(r), 0);

	set_wce(r, 0);
	accept(r, FLUSH | WCE); /* after a reset it is as at first */
	assert_int_equal(get_wce(r), 1);
	assert_int_equal(durable_writes(r), 0);

	set_wce(r, 0xff); /* not a value of the specification: kept as 1 */
	assert_int_equal(get_wce(r), 1);
	rig__free(r);
}

/* A driver that did not take CONFIG_WCE changes nothing, nor does a write beside the field. */
static void test_writes_without_effect(void **state)
{
	struct blk_rig *r = rig_with(DISK_CACHE_WRITEBACK);
	const struct virtio_dev_ops *ops = r->blk.dev.ops;
	struct virtio_blk_config before, after;
	uint8_t zero[sizeof(before)] = {0};

	(void)state;
	accept(r, FLUSH);
	set_wce(r, 0);
	assert_int_equal(durable_writes(r), 0);
	accept(r, 0);
	set_wce(r, 1);
	assert_int_equal(durable_writes(r), 2);

	accept(r, FLUSH | WCE);
	ops->config_read(&r->blk.dev, 0, &before, sizeof(before));
	ops->config_write(&r->blk.dev, 0, zero, WCE_OFFSET);
	ops->config_write(&r->blk.dev, WCE_OFFSET + 1, zero, sizeof(before) - WCE_OFFSET - 1);
	ops->config_read(&r->blk.dev, 0, &after, sizeof(after));
	assert_memory_equal(&before, &after, sizeof(before));

	/* within a wider write it counts, and nothing around it */
	ops->config_write(&r->blk.dev, 0, zero, sizeof(before));
	ops->config_read(&r->blk.dev, 0, &after, sizeof(after));
	before.wce = 0;
	assert_memory_equal(&before, &after, sizeof(before));
	rig__free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_features),
		cmocka_unit_test(test_switched_by_the_driver),
		cmocka_unit_test(test_writes_without_effect),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtio-blk cache", tests, NULL, NULL);
}
