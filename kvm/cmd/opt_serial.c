// SPDX-License-Identifier: GPL-2.0-only
/* Serial numbers of the disks: defaults, and no two alike. */
#include <errno.h>
#include <string.h>

#include "options.h"

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
