// SPDX-License-Identifier: GPL-2.0-only
/* The argument of -d: PATH[,option[=value]...] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opt_disk.h"

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

static int unknown_option(const struct disk_option *disk, const char *name, struct lk_err *err)
{
	char list[320] = "";
	size_t i, len = 0;

	for (i = 0; i < DISK_OPTS; i++)
		if (i != DISK_OPT_FAULT)
			len += snprintf(list + len, sizeof(list) - len, "%s%s%s", i ? ", " : "",
					disk_rows[i].name, disk_rows[i].arg ? "=" : "");
	return lk_err__set(err, -EINVAL, "-d %.100s: unknown disk option '%.40s'; there are %s",
			   disk->path, name, list);
}

static int set_option(struct disk_option *disk, char *field, uint64_t *seen, struct lk_err *err)
{
	char *value = strchr(field, '=');
	const struct disk_row *row;
	size_t i;

	if (value)
		*value++ = '\0';
	for (i = 0; i < DISK_OPTS && strcmp(disk_rows[i].name, field); i++)
		;
	if (i == DISK_OPTS)
		return unknown_option(disk, field, err);
	row = &disk_rows[i];
	if (disk_option__seen(*seen, i))
		return lk_err__set(err, -EINVAL, "-d %s: '%s' given twice; give it once",
				   disk->path, field);
	*seen |= 1ULL << i;
	if (value && !row->arg)
		return lk_err__set(err, -EINVAL, "-d: '%s' takes no value, not '%s'; leave it out",
				   field, value);
	if (!value && row->arg)
		return lk_err__set(err, -EINVAL, "-d: '%s' needs a value: %s=%s (%.*s)", field,
				   field, row->arg, (int)strcspn(row->help, "\n"), row->help);
	return row->set(disk, value, err);
}

static void set_defaults(struct disk_option *disk)
{
	memset(disk, 0, sizeof(*disk));
	disk->vectors = -1;
	disk->queue_size = OPTIONS_DEFAULT_QSIZE;
	disk->tuning.poll = VIRTIO_BLK_AUTO;
	disk->tuning.coalesce = VIRTIO_BLK_AUTO;
}

int options__disk(struct disk_option *disk, const char *arg, struct lk_err *err)
{
	char *field, *rest;
	uint64_t seen = 0;
	int ret;

	set_defaults(disk);
	disk->path = strdup(arg);
	if (!disk->path)
		return lk_err__set(err, -ENOMEM, "-d: out of memory");

	/* The path is the first field and stays at the start of the copy. */
	rest = disk->path;
	next_field(&rest);
	ret = disk_option__null_path(disk, err);
	while (!ret && (field = next_field(&rest)))
		ret = set_option(disk, field, &seen, err);
	if (!ret)
		ret = disk_option__check(disk, seen, err);
	if (ret) {
		free(disk->path);
		disk->path = NULL;
	}
	return ret;
}
