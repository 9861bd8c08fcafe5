/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Size, block sizes and alignment of an image.
 *
 * A file has sectors of 512 bytes whatever the host needs, so that an image
 * does not change its partition table by moving to another file system.  A
 * block device is announced as what it is.  What does not fill a last logical
 * block is left out (disk->tail).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine.h"

#define PROBE_MAX 4096U

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static int device_geometry(struct disk *disk, uint64_t *bytes, struct lk_err *err)
{
	unsigned int physical = 0, opt = 0;
	int logical = 0;

	if (ioctl(disk->fd, BLKGETSIZE64, bytes) || ioctl(disk->fd, BLKSSZGET, &logical))
		return lk_err__set(err, -errno, "disk '%s': cannot read the size of the device: %s",
				   disk->path, strerror(errno));
	if (logical < (int)DISK_SECTOR || !power_of_two(logical))
		return lk_err__set(err, -EINVAL, "disk '%s': a device with sectors of %d bytes",
				   disk->path, logical);
	disk->geo.logical_block = logical;
	disk->geo.physical_block = logical;
	/* the rest is advice: a device that has none is no error */
	if (!ioctl(disk->fd, BLKPBSZGET, &physical) && physical > (unsigned int)logical &&
	    power_of_two(physical))
		disk->geo.physical_block = physical;
	if (!ioctl(disk->fd, BLKIOOPT, &opt) && !(opt % logical))
		disk->geo.opt_io = opt;
	return 0;
}

static void file_geometry(struct disk *disk, const struct stat *st, uint64_t *bytes)
{
	uint64_t block = st->st_blksize;

	*bytes = st->st_size;
	disk->geo.logical_block = DISK_SECTOR;
	disk->geo.physical_block = DISK_SECTOR;
	if (power_of_two(block) && block > DISK_SECTOR)
		disk->geo.physical_block = block < 4096 ? block : 4096;
}

/* Kernels since 6.1 tell.  1: this one does not; 0, or -EINVAL: no O_DIRECT on this file. */
static int ask_kernel(struct disk *disk)
{
#ifdef STATX_DIOALIGN
	struct statx stx;

	if (statx(disk->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) ||
	    !(stx.stx_mask & STATX_DIOALIGN))
		return 1;
	if (!stx.stx_dio_offset_align)
		return -EINVAL;
	disk->geo.mem_align = stx.stx_dio_mem_align ? stx.stx_dio_mem_align : 1;
	disk->geo.offset_align = stx.stx_dio_offset_align;
	return 0;
#else
	(void)disk;
	return 1;
#endif
}

/* Try to read the first sector, then a larger block.  The size is at least a sector. */
static int probe(struct disk *disk)
{
	unsigned int align;
	ssize_t n = -1;
	char *buf;
	int rc;

	rc = posix_memalign((void **)&buf, PROBE_MAX, 2 * PROBE_MAX);
	if (rc)
		return -rc;
	for (align = DISK_SECTOR; align <= PROBE_MAX; align *= 8) {
		/* a buffer that has just this alignment and no better one */
		n = pread(disk->fd, buf + (align % PROBE_MAX), align, 0);
		if (n >= 0 || errno != EINVAL)
			break;
	}
	rc = n < 0 ? -errno : 0;
	free(buf);
	disk->geo.mem_align = align;
	disk->geo.offset_align = align;
	return rc;
}

static int direct_alignment(struct disk *disk, struct lk_err *err)
{
	struct disk_geometry *geo = &disk->geo;
	int rc = ask_kernel(disk);

	if (rc > 0 && disk->is_device) {
		geo->mem_align = geo->logical_block;
		geo->offset_align = geo->logical_block;
		rc = 0;
	} else if (rc > 0) {
		rc = probe(disk);
	}
	/*
	 * zram says 512 and means its block: it moves whole pages from their start
	 * (seen with Linux 6.18), so that a buffer at offset 512 gets the wrong data
	 * and its neighbours are overwritten.
	 */
	if (!rc && disk->is_device && geo->mem_align < geo->logical_block)
		geo->mem_align = geo->logical_block;
	if (!rc && (!power_of_two(geo->mem_align) || !power_of_two(geo->offset_align) ||
		    geo->mem_align > DISK_ALIGN_MAX || geo->offset_align > DISK_ALIGN_MAX))
		rc = -EINVAL;
	if (rc == -EINVAL)
		return lk_err__set(err, rc, "disk '%s': no O_DIRECT here; leave out 'direct'",
				   disk->path);
	if (rc)
		return lk_err__set(err, rc, "disk '%s': cannot read: %s", disk->path,
				   strerror(-rc));
	/* a guest that writes less than this makes the host read first */
	if (geo->physical_block < geo->offset_align)
		geo->physical_block = geo->offset_align;
	return 0;
}

int disk_geometry__read(struct disk *disk, const struct stat *st, struct lk_err *err)
{
	uint64_t bytes;
	int rc = 0;

	if (disk->is_device)
		rc = device_geometry(disk, &bytes, err);
	else
		file_geometry(disk, st, &bytes);
	if (rc)
		return rc;
	if (!bytes)
		return lk_err__set(err, -EINVAL, "disk '%s' is empty; %s", disk->path,
				   disk->is_device ? "the device has no medium or no size"
						   : "make it larger first (truncate -s SIZE)");
	disk->tail = bytes % disk->geo.logical_block;
	disk->size = bytes - disk->tail;
	if (!disk->size)
		return lk_err__set(err, -EINVAL,
				   "disk '%s' has %llu bytes, less than a sector of %u; make it "
				   "larger first (truncate -s SIZE)",
				   disk->path, (unsigned long long)bytes, disk->geo.logical_block);
	disk->geo.mem_align = 1;
	disk->geo.offset_align = 1;
	return disk->direct ? direct_alignment(disk, err) : 0;
}
