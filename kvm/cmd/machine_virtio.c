// SPDX-License-Identifier: GPL-2.0-only
/* The virtio devices of the machine and their I/O threads. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "machine_steps.h"

#define CLASS_STORAGE_OTHER 0x018000
#define CLASS_RNG 0xff0000 /* no class fits; "does not fit any defined class" */

static unsigned int nr_queues(const struct machine *m, const struct disk_option *opt)
{
	if (opt->queues)
		return opt->queues;
	return m->opts->cpus < OPTIONS_DEFAULT_QUEUES ? m->opts->cpus : OPTIONS_DEFAULT_QUEUES;
}

static int nr_vectors(const struct disk_option *opt, unsigned int queues, unsigned int *vectors,
		      struct lk_err *err)
{
	*vectors = opt->vectors < 0 ? queues + 1 : (unsigned int)opt->vectors;
	if (*vectors > queues + 1)
		return lk_err__set(err, -EINVAL,
				   "-d %s: vectors=%u, but %u queues can use at most %u; give less "
				   "or add queues=",
				   opt->path, *vectors, queues, queues + 1);
	return 0;
}

static uint64_t ring_features(const struct disk_option *opt)
{
	uint64_t features = 0;

	if (!opt->no_event_idx)
		features |= 1ULL << VIRTIO_RING_F_EVENT_IDX;
	if (!opt->no_indirect)
		features |= 1ULL << VIRTIO_RING_F_INDIRECT_DESC;
	if (opt->packed)
		features |= 1ULL << VIRTIO_F_RING_PACKED;
	return features;
}

static int disk_up(struct machine *m, unsigned int i, struct lk_err *err)
{
	const struct disk_option *opt = &m->opts->disk[i];
	struct machine_disk *md = &m->disk[i];
	struct virtio_blk_params params = {
		.disk = &md->disk,
		.mem = &m->vm.mem,
		.nr_queues = nr_queues(m, opt),
		.queue_size = opt->queue_size,
		.serial = opt->serial,
		.ring_features = ring_features(opt),
		.tuning = opt->tuning,
	};
	unsigned int vectors;
	int ret;

	ret = nr_vectors(opt, params.nr_queues, &vectors, err);
	if (!ret)
		ret = virtio_blk__init(&md->blk, &params, err);
	if (ret)
		return ret;
	md->has_blk = true;
	/* not before: a queue that meets a limit changes the choice */
	log__debug(&m->vm.log, "disk %s: %s", opt->path, md->disk.note);
	ret = virtio_pci__init(&md->pci, &md->blk.dev, &m->pci, vectors, CLASS_STORAGE_OTHER);
	if (ret)
		return lk_err__set(err, ret, "disk %s: no place on the PCI bus: %s", opt->path,
				   strerror(-ret));
	md->has_pci = true;
	return 0;
}

int step__disks_up(struct machine *m, struct lk_err *err)
{
	unsigned int i;
	int ret;

	for (i = 0; i < m->opts->nr_disks; i++) {
		ret = disk_up(m, i, err);
		if (ret) {
			step__disks_down(m);
			return ret;
		}
	}
	return 0;
}

void step__disks_down(struct machine *m)
{
	unsigned int i;

	for (i = 0; i < m->opts->nr_disks; i++) {
		if (m->disk[i].has_pci)
			virtio_pci__fini(&m->disk[i].pci);
		if (m->disk[i].has_blk)
			virtio_blk__fini(&m->disk[i].blk);
		if (m->disk[i].has_blk && m->disk[i].disk.lost)
			log__debug(&m->vm.log, "disk %s: %s", m->opts->disk[i].path,
				   m->disk[i].disk.lost);
		m->disk[i].has_pci = m->disk[i].has_blk = false;
	}
}

/* With auto the queues of a disk can have several engines. */
static unsigned int engine_needs(const struct machine_disk *md, unsigned int queue)
{
	const char *name = virtio_blk__engine(&md->blk, queue);

	if (!strcmp(name, "null"))
		return 0;
	return SANDBOX_NEED_IMAGE | (!strcmp(name, "aio") ? SANDBOX_NEED_AIO : 0) |
	       (!strcmp(name, "uring") ? SANDBOX_NEED_URING : 0);
}

unsigned int step__needs(const struct machine *m)
{
	unsigned int needs = 0;

	for (unsigned int i = 0; i < SANDBOX_FILES; i++)
		if (m->sandbox.file[i])
			needs |= SANDBOX_NEED_FILE;

	for (unsigned int i = 0; i < m->opts->nr_disks; i++)
		for (unsigned int q = 0; q < m->disk[i].blk.dev.nr_queues; q++)
			needs |= engine_needs(&m->disk[i], q);
	return needs;
}

int step__rng_up(struct machine *m, struct lk_err *err)
{
	int ret;

	if (!m->opts->rng)
		return 0;
	ret = virtio_rng__init(&m->rng, &m->vm.mem);
	if (ret)
		return lk_err__set(err, ret, "--rng: %s", strerror(-ret));
	ret = virtio_pci__init(&m->rng_pci, &m->rng.dev, &m->pci, 2, CLASS_RNG);
	if (ret) {
		virtio_rng__fini(&m->rng);
		return lk_err__set(err, ret, "--rng: no place on the PCI bus: %s", strerror(-ret));
	}
	m->has_rng = true;
	return 0;
}

void step__rng_down(struct machine *m)
{
	if (!m->has_rng)
		return;
	virtio_pci__fini(&m->rng_pci);
	virtio_rng__fini(&m->rng);
	m->has_rng = false;
}

/* CPUs that this process may use and its vCPUs cannot occupy; 0 or less: none. */
static int spare_cpus(const struct machine *m)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return CPU_COUNT(&set) - (int)m->opts->cpus;
}

int step__threads_up(struct machine *m, struct lk_err *err)
{
	int spare = spare_cpus(m);
	bool crowded = spare <= 0;
	char name[16];
	unsigned int i;
	int ret = 0;

	atomic_init(&m->spin_slots, spare);
	if (crowded)
		log__debug(&m->vm.log, "as many vCPUs as CPUs: I/O threads give way to vCPUs");
	for (i = 0; i < m->opts->nr_disks; i++) {
		ret = disk__start(&m->disk[i].disk, err);
		if (ret)
			return ret;
	}
	for (i = 0; i < m->opts->nr_disks && !ret; i++) {
		m->disk[i].blk.dev.threads = m->vm.threads;
		m->disk[i].blk.dev.crowded = crowded;
		m->disk[i].blk.dev.spin_slots = &m->spin_slots;
		snprintf(name, sizeof(name), "blk-%u", i);
		ret = virtio_dev__start_threads(&m->disk[i].blk.dev, name);
	}
	m->rng.dev.threads = m->vm.threads;
	if (!ret && m->has_rng)
		ret = virtio_dev__start_threads(&m->rng.dev, "rng");
	if (!ret)
		return 0;
	step__threads_down(m);
	return lk_err__set(err, ret,
			   "cannot start the I/O threads: %s; raise the limit on threads (ulimit "
			   "-u, pids cgroup) or give fewer queues=",
			   strerror(-ret));
}

void step__threads_down(struct machine *m)
{
	unsigned int i;

	if (m->has_rng)
		virtio_dev__stop_threads(&m->rng.dev);
	for (i = 0; i < m->opts->nr_disks; i++)
		virtio_dev__stop_threads(&m->disk[i].blk.dev);
}
