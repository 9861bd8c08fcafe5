// SPDX-License-Identifier: GPL-2.0-only
/* virtio-blk: features, configuration space, set-up (virtio 1.2, 5.2.3 to 5.2.5). */
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "blk.h"

static void config_read(struct virtio_dev *dev, unsigned int off, void *buf, unsigned int len)
{
	struct virtio_blk *blk = dev->priv;
	struct virtio_blk_config config = blk->config;

	config.wce = atomic_load(&blk->writeback);
	memcpy(buf, (const char *)&config + off, len);
}

/* One field can be written; in force for the requests that are read after it. */
static void config_write(struct virtio_dev *dev, unsigned int off, const void *buf,
			 unsigned int len)
{
	const unsigned int wce = offsetof(struct virtio_blk_config, wce);
	struct virtio_blk *blk = dev->priv;

	if (!virtio_dev__has(dev, VIRTIO_BLK_F_CONFIG_WCE) || off > wce || wce - off >= len)
		return;
	atomic_store(&blk->writeback, ((const uint8_t *)buf)[wce - off] != 0);
}

/* 5.2.5.2, 5.2.6.2; see virtio_blk.h. */
static void features_set(struct virtio_dev *dev)
{
	bool flush = virtio_dev__has(dev, VIRTIO_BLK_F_FLUSH);
	struct virtio_blk *blk = dev->priv;

	if (!atomic_load(&dev->features)) /* reset */
		atomic_store(&blk->writeback, blk->config.wce);
	else if (virtio_dev__has(dev, VIRTIO_BLK_F_CONFIG_WCE))
		atomic_store(&blk->writeback, flush && blk->config.wce);
	else
		atomic_store(&blk->writeback, flush);
}

static const struct virtio_dev_ops blk_ops = {
	.id = VIRTIO_ID_BLOCK,
	.name = "blk",
	.config_read = config_read,
	.config_write = config_write,
	.features_set = features_set,
	.queue_run = virtio_blk_queue__run,
};

static uint64_t offered_features(const struct virtio_blk_params *params)
{
	uint64_t features = (1ULL << VIRTIO_BLK_F_SEG_MAX) | (1ULL << VIRTIO_BLK_F_BLK_SIZE) |
			    (1ULL << VIRTIO_BLK_F_TOPOLOGY) | (1ULL << VIRTIO_BLK_F_FLUSH);

	features |= params->ring_features;
	if (params->nr_queues > 1)
		features |= 1ULL << VIRTIO_BLK_F_MQ;
	if (params->disk->read_only)
		features |= 1ULL << VIRTIO_BLK_F_RO;
	else
		features |= 1ULL << VIRTIO_BLK_F_CONFIG_WCE;
	if (params->disk->limits.discard_max)
		features |= 1ULL << VIRTIO_BLK_F_DISCARD;
	if (params->disk->limits.zeroes_max)
		features |= 1ULL << VIRTIO_BLK_F_WRITE_ZEROES;
	return features;
}

/* Capacity counts 512-byte sectors, topology logical blocks. */
static void fill_config(struct virtio_blk_config *config, const struct virtio_blk_params *params)
{
	const struct disk_geometry *geo = &params->disk->geo;
	uint32_t per_physical = geo->physical_block / geo->logical_block;
	uint8_t exp = 0;

	while (exp < 31 && (2U << exp) <= per_physical)
		exp++;
	per_physical = 1U << exp;

	config->capacity = htole64(params->disk->size / DISK_SECTOR);
	/* header and status take two descriptors of a chain (5.2.4) */
	config->seg_max = htole32(params->queue_size - 2U);
	config->blk_size = htole32(geo->logical_block);
	config->physical_block_exp = exp;
	config->alignment_offset = 0;
	config->min_io_size = htole16(per_physical > UINT16_MAX ? UINT16_MAX : per_physical);
	config->opt_io_size = htole32(geo->opt_io / geo->logical_block);
	config->wce = params->disk->cache != DISK_CACHE_WRITETHROUGH;
	config->num_queues = htole16(params->nr_queues);
}

static uint32_t in_sectors(uint64_t bytes)
{
	uint64_t nr = bytes / DISK_SECTOR;

	return nr > UINT32_MAX ? UINT32_MAX : nr;
}

/* 5.2.4: sectors of 512 bytes, also on a disk with larger logical blocks. */
static void fill_limits(struct virtio_blk_config *config, const struct disk_limits *limits)
{
	if (limits->discard_max) {
		config->max_discard_sectors = htole32(in_sectors(limits->discard_max));
		config->max_discard_seg = htole32(1);
		config->discard_sector_alignment = htole32(in_sectors(limits->discard_align));
	}
	if (limits->zeroes_max) {
		config->max_write_zeroes_sectors = htole32(in_sectors(limits->zeroes_max));
		config->max_write_zeroes_seg = htole32(1);
		config->write_zeroes_may_unmap = limits->zeroes_unmap;
	}
}

static int check_params(const struct virtio_blk_params *params, struct lk_err *err)
{
	const char *path = params->disk->path;
	unsigned int size = params->queue_size;

	if (params->nr_queues < 1 || params->nr_queues > 16)
		return lk_err__set(err, -EINVAL, "disk %s: queues must be 1 to 16, not %u", path,
				   params->nr_queues);
	if (size < 16 || size > VIRTQ_MAX_SIZE || (size & (size - 1)))
		return lk_err__set(err, -EINVAL,
				   "disk %s: queue size must be a power of two from 16 to %u", path,
				   VIRTQ_MAX_SIZE);
	if (params->serial && strlen(params->serial) > VIRTIO_BLK_ID_BYTES)
		return lk_err__set(err, -EINVAL, "disk %s: serial is longer than %u bytes", path,
				   VIRTIO_BLK_ID_BYTES);
	return 0;
}

int virtio_blk__init(struct virtio_blk *blk, const struct virtio_blk_params *params,
		     struct lk_err *err)
{
	unsigned int i;
	int ret;

	ret = check_params(params, err);
	if (ret)
		return ret;

	memset(blk, 0, sizeof(*blk));
	blk->disk = params->disk;
	blk->tuning = params->tuning;
	for (i = 0; i < params->mem->nr; i++)
		blk->ram[blk->nr_ram++] = (struct iovec) {
			.iov_base = params->mem->region[i].hva,
			.iov_len = params->mem->region[i].size,
		};
	if (params->serial)
		memcpy(blk->serial, params->serial, strlen(params->serial));
	fill_config(&blk->config, params);
	fill_limits(&blk->config, &params->disk->limits);
	atomic_init(&blk->writeback, blk->config.wce);

	blk->dev.ops = &blk_ops;
	blk->dev.priv = blk;
	blk->dev.mem = params->mem;
	blk->dev.offered = offered_features(params);
	blk->dev.config_size = sizeof(blk->config);
	ret = virtio_dev__init(&blk->dev, params->nr_queues, params->queue_size);
	if (ret)
		return lk_err__set(err, ret, "disk %s: no memory or eventfd for %u queues: %s",
				   params->disk->path, params->nr_queues, strerror(-ret));

	for (i = 0; i < params->nr_queues; i++) {
		ret = virtio_blk_queue__init(&blk->dev.queues[i], blk, err);
		if (ret) {
			virtio_blk__fini(blk);
			return ret;
		}
	}
	return 0;
}

void virtio_blk__fini(struct virtio_blk *blk)
{
	unsigned int i;

	for (i = 0; i < blk->dev.nr_queues; i++)
		virtio_blk_queue__fini(&blk->dev.queues[i]);
	virtio_dev__fini(&blk->dev);
}
