// SPDX-License-Identifier: GPL-2.0-only
/* The argument of -d: PATH[,option[=value]...] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/*
 * Cut the next field off *@rest, in place: up to a single comma, with double
 * commas folded into one.  NULL at the end.
 */
static char *next_field(char **rest)
{
	char *start = *rest, *in = start, *out = start;

	if (!start)
		return NULL;
	for (;;) {
		if (in[0] == ',' && in[1] == ',') {
			*out++ = ',';
			in += 2;
		} else if (in[0] == ',') {
			*rest = in + 1;
			break;
		} else if (in[0] == '\0') {
			*rest = NULL;
			break;
		} else {
			*out++ = *in++;
		}
	}
	*out = '\0';
	return start;
}

static int set_flag(const char *value, bool *flag)
{
	if (value)
		return -EINVAL;
	*flag = true;
	return 0;
}

static int set_ro(struct disk_option *disk, const char *value, struct lk_err *err)
{
	if (set_flag(value, &disk->read_only))
		return lk_err__set(err, -EINVAL, "-d: 'ro' takes no value");
	return 0;
}

static int set_direct(struct disk_option *disk, const char *value, struct lk_err *err)
{
	if (value)
		return lk_err__set(err, -EINVAL, "-d: 'direct' takes no value");
	disk->cache = DISK_CACHE_NONE;
	return 0;
}

static int set_queues(struct disk_option *disk, const char *value, struct lk_err *err)
{
	unsigned long n;

	if (!value || options__number(value, 1, OPTIONS_MAX_QUEUES, &n))
		return lk_err__set(err, -EINVAL, "-d: queues=%s: give a number from 1 to %d",
				   value ? value : "", OPTIONS_MAX_QUEUES);
	disk->queues = n;
	return 0;
}

static int set_vectors(struct disk_option *disk, const char *value, struct lk_err *err)
{
	unsigned long n;

	if (!value || options__number(value, 0, OPTIONS_MAX_QUEUES + 1, &n))
		return lk_err__set(err, -EINVAL,
				   "-d: vectors=%s: give a number from 0 (INTx alone) to %d",
				   value ? value : "", OPTIONS_MAX_QUEUES + 1);
	disk->vectors = n;
	return 0;
}

static int set_serial(struct disk_option *disk, const char *value, struct lk_err *err)
{
	if (!value)
		return lk_err__set(err, -EINVAL, "-d: serial needs a value: serial=TEXT");
	if (strlen(value) > VIRTIO_BLK_ID_BYTES)
		return lk_err__set(err, -EINVAL,
				   "-d: serial=%s has %zu bytes; a virtio disk has room for %d, "
				   "give a shorter one",
				   value, strlen(value), VIRTIO_BLK_ID_BYTES);
	strcpy(disk->serial, value);
	disk->has_serial = true;
	return 0;
}

static int set_format(struct disk_option *disk, const char *value, struct lk_err *err)
{
	(void)disk;
	if (!value || strcmp(value, "raw"))
		return lk_err__set(err, -EINVAL,
				   "-d: format=%s: only raw images are supported; convert it first "
				   "(qemu-img convert -O raw)",
				   value ? value : "");
	return 0;
}

static const struct {
	const char *name;
	int (*set)(struct disk_option *disk, const char *value, struct lk_err *err);
} disk_settings[] = {
	{"ro", set_ro},		  {"direct", set_direct}, {"queues", set_queues},
	{"vectors", set_vectors}, {"serial", set_serial}, {"format", set_format},
};

static int set_option(struct disk_option *disk, char *field, struct lk_err *err)
{
	char *value = strchr(field, '=');
	size_t i;

	if (value)
		*value++ = '\0';
	for (i = 0; i < sizeof(disk_settings) / sizeof(disk_settings[0]); i++)
		if (!strcmp(disk_settings[i].name, field))
			return disk_settings[i].set(disk, value, err);
	return lk_err__set(err, -EINVAL,
			   "-d %s: unknown disk option '%s'; there are ro, direct, queues=, "
			   "vectors=, serial= and format=",
			   disk->path, field);
}

int options__disk(struct disk_option *disk, const char *arg, struct lk_err *err)
{
	char *field, *rest;
	int ret = 0;

	memset(disk, 0, sizeof(*disk));
	disk->vectors = -1;
	disk->path = strdup(arg);
	if (!disk->path)
		return lk_err__set(err, -ENOMEM, "-d: out of memory");

	/* The path is the first field and stays at the start of the copy. */
	rest = disk->path;
	next_field(&rest);
	if (!*disk->path)
		ret = lk_err__set(err, -EINVAL, "-d: no image named; give -d FILE");
	while (!ret && (field = next_field(&rest)))
		ret = set_option(disk, field, err);
	if (!ret && disk->queues && disk->vectors > (int)disk->queues + 1)
		ret = lk_err__set(err, -EINVAL,
				  "-d %s: vectors=%d is more than the queues and the configuration "
				  "change can use; give at most %u",
				  disk->path, disk->vectors, disk->queues + 1);
	if (ret) {
		free(disk->path);
		disk->path = NULL;
	}
	return ret;
}

static void give_default_serial(struct disk_option *disk, unsigned int index)
{
	/* By position: the same from run to run, and different between disks. */
	snprintf(disk->serial, sizeof(disk->serial), "lkvm-disk-%u", index);
}

int options__serials(struct run_options *opts, struct lk_err *err)
{
	unsigned int i, j;

	for (i = 0; i < opts->nr_disks; i++)
		if (!opts->disk[i].has_serial)
			give_default_serial(&opts->disk[i], i);
	for (i = 0; i < opts->nr_disks; i++)
		for (j = 0; j < i; j++)
			if (*opts->disk[i].serial &&
			    !strcmp(opts->disk[i].serial, opts->disk[j].serial))
				return lk_err__set(err, -EINVAL,
						   "-d: %s and %s both have serial '%s'; give each "
						   "disk its own with serial=TEXT",
						   opts->disk[j].path, opts->disk[i].path,
						   opts->disk[i].serial);
	return 0;
}
