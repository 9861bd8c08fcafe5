// SPDX-License-Identifier: GPL-2.0-only
/* Files and sizes that the command line names: opened and checked before KVM is touched. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <lkvm/x86_cpu.h>

#include "kernel_find.h"
#include "machine_steps.h"
#include "params.h"

int step__check_memory(struct machine *m, struct lk_err *err)
{
	struct sysinfo info;
	uint64_t host;

	if (sysinfo(&info))
		return lk_err__set(err, -errno, "sysinfo: %s", strerror(errno));
	host = (uint64_t)info.totalram * info.mem_unit;
	if (m->opts->mem > host)
		return lk_err__set(err, -ENOMEM,
				   "-m: %llu MiB of guest memory, but this host has %llu MiB; "
				   "give less",
				   (unsigned long long)m->opts->mem >> 20,
				   (unsigned long long)host >> 20);
	return 0;
}

int step__params(struct machine *m, struct lk_err *err)
{
	return params__build(m->cmdline, sizeof(m->cmdline), m->opts, err);
}

int step__kernel_up(struct machine *m, struct lk_err *err)
{
	const char *path = m->opts->kernel;
	int ret;

	if (!path) {
		ret = kernel_find(m->kernel_path, sizeof(m->kernel_path), err);
		if (ret)
			return ret;
		path = m->kernel_path;
	}
	return kernel__open(&m->kernel, path, err);
}

void step__kernel_down(struct machine *m)
{
	kernel__close(&m->kernel);
}

int step__initrd_up(struct machine *m, struct lk_err *err)
{
	const char *path = m->opts->initrd;
	struct stat st;
	int fd;

	if (!path)
		return 0;
	/* O_NONBLOCK: a FIFO must not make the open wait for a writer */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return lk_err__set(err, -errno, "initrd %s: %s; name a readable file with -i", path,
				   strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return lk_err__set(err, -EINVAL, "initrd %s: %s; name a cpio archive with -i", path,
				   S_ISREG(st.st_mode) ? "the file is empty"
						       : "not a regular file");
	}
	m->initrd_fd = fd;
	m->initrd_size = st.st_size;
	return 0;
}

void step__initrd_down(struct machine *m)
{
	if (m->initrd_fd >= 0)
		close(m->initrd_fd);
	m->initrd_fd = -1;
}

static int open_image(struct machine *m, unsigned int i, struct lk_err *err)
{
	const struct disk_option *opt = &m->opts->disk[i];
	struct disk *disk = &m->disk[i].disk;
	struct disk_params params = {
		.path = opt->path,
		.read_only = opt->read_only,
		.no_lock = opt->no_lock,
		.force = opt->force,
		.cache = opt->cache,
		.engine = opt->engine,
		.null_size = opt->null_size,
		.null_latency = opt->null_latency,
		.fault = opt->fault,
		.threads = m->vm.threads,
	};
	int ret = disk__open(disk, &params, err);

	if (ret)
		return ret;
	m->disk[i].opened = true;
	if (disk->tail)
		log__warn(&m->vm.log,
			  "disk %s: the size is not a multiple of %u bytes; the last %llu bytes "
			  "are out of the guest's reach",
			  opt->path, disk->geo.logical_block, (unsigned long long)disk->tail);
	if (disk->unlocked)
		log__warn(&m->vm.log,
			  "disk %s: the file system has no locks; see to it that nothing else uses "
			  "the image, and add ',lock=off'",
			  opt->path);
	return 0;
}

int step__images_up(struct machine *m, struct lk_err *err)
{
	unsigned int i;
	int ret;

	for (i = 0; i < m->opts->nr_disks; i++) {
		ret = open_image(m, i, err);
		if (ret) {
			step__images_down(m);
			return ret;
		}
	}
	return 0;
}

void step__images_down(struct machine *m)
{
	unsigned int i;

	for (i = 0; i < m->opts->nr_disks; i++) {
		if (m->disk[i].opened)
			disk__close(&m->disk[i].disk);
		m->disk[i].opened = false;
	}
}

int step__plan(struct machine *m, struct lk_err *err)
{
	unsigned int phys_bits;
	int ret;

	ret = x86_cpu__phys_bits(&m->vm, &phys_bits);
	if (ret)
		return lk_err__set(err, ret, "KVM_GET_SUPPORTED_CPUID: %s", strerror(-ret));
	ret = x86_map__init(&m->map, m->opts->mem, phys_bits, err);
	if (!ret)
		ret = boot__plan(&m->plan, &m->kernel, &m->map, m->initrd_size, m->cmdline, err);
	return ret;
}
