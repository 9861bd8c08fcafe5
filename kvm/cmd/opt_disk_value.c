// SPDX-License-Identifier: GPL-2.0-only
/* Options of -d whose values are words, times and lists. */
#include <errno.h>
#include <string.h>

#include "opt_disk.h"

/* Index of @value in @names, or -EINVAL. */
static int find_word(const char *value, const char *const *names, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(names[i], value))
			return i;
	return -EINVAL;
}

static const char *const engine_names[] = {
	[DISK_ENGINE_AUTO] = "auto",   [DISK_ENGINE_AIO] = "aio",
	[DISK_ENGINE_URING] = "uring", [DISK_ENGINE_THREADS] = "threads",
	[DISK_ENGINE_NULL] = "null",
};

const char *options__engine_name(enum disk_engine_kind engine)
{
	return engine_names[engine];
}

int disk_value__engine(struct disk_option *disk, const char *value, struct lk_err *err)
{
	int i = find_word(value, engine_names, sizeof(engine_names) / sizeof(engine_names[0]));

	if (i < 0)
		return lk_err__set(err, -EINVAL,
				   "-d: engine=%s: give auto, aio, uring, threads or null", value);
	disk->engine = i;
	return 0;
}

int disk_value__cache(struct disk_option *disk, const char *value, struct lk_err *err)
{
	static const char *const names[] = {
		[DISK_CACHE_WRITEBACK] = "writeback",
		[DISK_CACHE_NONE] = "none",
		[DISK_CACHE_WRITETHROUGH] = "writethrough",
		[DISK_CACHE_UNSAFE] = "unsafe",
	};
	int i = find_word(value, names, sizeof(names) / sizeof(names[0]));

	if (i < 0)
		return lk_err__set(err, -EINVAL,
				   "-d: cache=%s: give writeback, none, writethrough or unsafe",
				   value);
	disk->cache = i;
	return 0;
}

/* "off", "auto" or microseconds, the latter up to @end.  -EINVAL. */
static int parse_wait(const char *value, const char *end, enum virtio_blk_mode *mode, uint64_t *ns)
{
	unsigned long usec;
	char word[24];

	if (end - value >= (ptrdiff_t)sizeof(word))
		return -EINVAL;
	memcpy(word, value, end - value);
	word[end - value] = '\0';
	if (!strcmp(word, "off") || !strcmp(word, "auto")) {
		*mode = *word == 'o' ? VIRTIO_BLK_OFF : VIRTIO_BLK_AUTO;
		return *end ? -EINVAL : 0;
	}
	if (options__number(word, 1, OPTIONS_MAX_WAIT_US, &usec))
		return -EINVAL;
	*mode = VIRTIO_BLK_FIXED;
	*ns = usec * 1000ULL;
	return 0;
}

int disk_value__poll(struct disk_option *disk, const char *value, struct lk_err *err)
{
	struct virtio_blk_tuning *tuning = &disk->tuning;

	if (parse_wait(value, value + strlen(value), &tuning->poll, &tuning->poll_ns))
		return lk_err__set(err, -EINVAL,
				   "-d: poll=%s: give off, auto, or microseconds from 1 to %d",
				   value, OPTIONS_MAX_WAIT_US);
	return 0;
}

int disk_value__coalesce(struct disk_option *disk, const char *value, struct lk_err *err)
{
	struct virtio_blk_tuning *tuning = &disk->tuning;
	const char *end = value + strcspn(value, ",:");
	unsigned long n = 0;

	if (parse_wait(value, end, &tuning->coalesce, &tuning->coalesce_ns) ||
	    (*end && options__number(end + 1, 1, OPTIONS_MAX_QSIZE, &n)))
		return lk_err__set(err, -EINVAL,
				   "-d: coalesce=%s: give auto, off, or USEC or USEC:N with USEC "
				   "from 1 to %d and N completions from 1 to %d",
				   value, OPTIONS_MAX_WAIT_US, OPTIONS_MAX_QSIZE);
	tuning->coalesce_nr = n;
	return 0;
}

/* One "A" or "A-B" of a list of CPUs; *@text moves past it and one separator. */
static int parse_range(const char **text, unsigned long *first, unsigned long *last)
{
	size_t len = strcspn(*text, ",:");
	char word[24], *dash;

	if (!len || len >= sizeof(word))
		return -EINVAL;
	memcpy(word, *text, len);
	word[len] = '\0';
	*text += len;
	if (**text && !*++*text)
		return -EINVAL; /* ends with a separator */
	dash = strchr(word, '-');
	if (dash)
		*dash++ = '\0';
	if (options__number(word, 0, CPU_SETSIZE - 1, first) ||
	    options__number(dash ? dash : word, 0, CPU_SETSIZE - 1, last))
		return -EINVAL;
	return *first <= *last ? 0 : -EINVAL;
}

/* "0-3,5" of @set, cut with "..." where @buf ends. */
static void list_cpus(const cpu_set_t *set, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (int a = 0, b; a < CPU_SETSIZE; a = b + 1) {
		b = a;
		if (!CPU_ISSET(a, set))
			continue;
		while (b + 1 < CPU_SETSIZE && CPU_ISSET(b + 1, set))
			b++;
		if (len + 16 > size) {
			snprintf(buf + len, size - len, ",...");
			return;
		}
		len += snprintf(buf + len, size - len, "%s%d", len ? "," : "", a);
		if (b > a)
			len += snprintf(buf + len, size - len, "-%d", b);
	}
}

int disk_value__cpus(struct disk_option *disk, const char *value, struct lk_err *err)
{
	struct virtio_blk_tuning *tuning = &disk->tuning;
	unsigned long first, last;
	const char *rest = value;
	cpu_set_t allowed;
	char list[96];

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return lk_err__set(err, -EINVAL,
				   "-d: cpus=%s: the CPUs of this process cannot be read: %s; "
				   "leave cpus= out and use taskset(1)",
				   value, strerror(errno));
	list_cpus(&allowed, list, sizeof(list));
	CPU_ZERO(&tuning->cpus);
	do {
		if (parse_range(&rest, &first, &last))
			return lk_err__set(
				err, -EINVAL,
				"-d: cpus=%s: not a list of CPUs; give one such as 0-3:5, "
				"out of %s",
				value, list);
		for (unsigned long cpu = first; cpu <= last; cpu++) {
			if (!CPU_ISSET(cpu, &allowed))
				return lk_err__set(err, -EINVAL,
						   "-d: cpus=%s: CPU %lu is not there, or not "
						   "allowed to this process; it has %s",
						   value, cpu, list);
			CPU_SET(cpu, &tuning->cpus);
		}
	} while (*rest);
	tuning->pinned = true;
	return 0;
}
