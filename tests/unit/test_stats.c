// SPDX-License-Identifier: GPL-2.0-only
/* The counters at the end of the VM: sums, the check that all came back, JSON, table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kvm/cmd/json.h"
#include "kvm/cmd/stats.h"

/* Two disks, of two queues and of one, with a different number in each counter. */
struct rig {
	struct virtio_blk_stats queue[3];
	struct stats stats;
};

static void fill(struct virtio_blk_stats *s, uint64_t base)
{
	uint64_t *counters = (uint64_t *)s;

	/* counters first, then the two histograms: all are uint64_t */
	for (size_t i = 0; i < sizeof(*s) / sizeof(uint64_t); i++)
		counters[i] = base + i;
	s->queue.completed = s->queue.popped;
	s->batch = s->latency = (struct hist) {{0}, 0, 0};
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int i;

	if (!r)
		return -1;
	for (i = 0; i < 3; i++)
		fill(&r->queue[i], 1000 * (i + 1));
	r->stats.nr_disks = 2;
	r->stats.disk[0] = (struct stats_disk) {
		.path = "/a.img",
		.serial = "s0",
		.engine = "auto",
		.served_by = {"aio", "threads"}, /* the second fell back */
		.cache = DISK_CACHE_NONE,
		.nr_queues = 2,
		.queue = &r->queue[0],
	};
	r->stats.disk[1] = (struct stats_disk) {
		.path = "null:1G",
		.serial = "s1",
		.engine = "null",
		.served_by = {"null"},
		.nr_queues = 1,
		.queue = &r->queue[2],
	};
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* What @put writes, as one string that the caller frees. */
static char *text_of(void (*put)(FILE *out, const struct stats *stats), const struct stats *stats)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	put(out, stats);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in: %s", what, text);
}

/* Every word but the maxima of the histograms is a sum. */
static void test_sums(void **state)
{
	struct rig *r = *state;
	const uint64_t *a = (uint64_t *)&r->queue[0], *b = (uint64_t *)&r->queue[1];
	const uint64_t *c = (uint64_t *)&r->queue[2];
	const uint64_t *disk = (uint64_t *)&r->stats.disk[0].total;
	const uint64_t *all = (uint64_t *)&r->stats.total;

	hist__add(&r->queue[0].batch, 3);
	hist__add(&r->queue[1].batch, 9);
	hist__add(&r->queue[2].latency, 5000);
	stats__sum(&r->stats);
	for (size_t i = 0; i < sizeof(r->queue[0]) / sizeof(uint64_t); i++) {
		if (i == offsetof(struct virtio_blk_stats, batch.max) / sizeof(uint64_t))
			continue;
		assert_int_equal(disk[i], a[i] + b[i]);
		assert_int_equal(all[i], a[i] + b[i] + c[i]);
	}
	assert_int_equal(r->stats.disk[0].total.batch.max, 9);
	assert_int_equal(r->stats.total.latency.max, 5000);
}

static void test_ratios(void **state)
{
	struct virtio_blk_stats s = {.requests = {[VIRTIO_BLK_READS] = 30,
						  [VIRTIO_BLK_FLUSHES] = 9,
						  [VIRTIO_BLK_OTHERS] = 1}};

	(void)state;
	s.disk.submits = 2;
	s.disk.waits = 3;
	s.disk.syscalls = 5;
	s.queue.interrupts = 10; /* a write to an irqfd each */
	s.queue.wakes = 1000; /* no call: the wait was */
	assert_int_equal(stats__requests(&s), 40);
	assert_int_equal(stats__system_calls(&s), 20);
	assert_true(stats__per_request(&s, 20) == 0.5);
	s = (struct virtio_blk_stats) {0};
	assert_true(stats__per_request(&s, 20) == 0);
}

static char *check_text(const struct stats *stats, bool *balanced)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	*balanced = stats__check(stats, out);
	fclose(out);
	return text;
}

static void test_unbalanced(void **state)
{
	struct rig *r = *state;
	bool balanced;
	char *text = check_text(&r->stats, &balanced);

	assert_true(balanced);
	assert_string_equal(text, "");
	free(text);

	/* One too few in one queue and one too many in another of the disk: the sum
	 * is right, the queues are not. */
	r->queue[0].queue.popped = 7;
	r->queue[0].queue.completed = 8;
	r->queue[1].queue.popped = 12;
	r->queue[1].queue.completed = 11;
	stats__sum(&r->stats);
	text = check_text(&r->stats, &balanced);
	assert_false(balanced);
	expect(text, "disk 0, queue 0: 7 requests taken, 8 given back");
	expect(text, "disk 0, queue 1: 12 requests taken, 11 given back");
	assert_null(strstr(text, "disk 1"));
	free(text);
	text = text_of(stats__json, &r->stats);
	expect(text, "\n  \"balanced\": false,");
	free(text);
}

/* Names and numbers as lkvm.1 has them. */
static void test_json(void **state)
{
	struct rig *r = *state;
	char *text, line[64];

	hist__add(&r->queue[2].latency, 0);
	hist__add(&r->queue[2].latency, 5);
	hist__add(&r->queue[2].latency, UINT64_MAX - 5);
	r->stats.status = 143;
	stats__sum(&r->stats);
	text = text_of(stats__json, &r->stats);
	expect(text, "{\n  \"version\": 1,\n  \"status\": 143,\n  \"balanced\": true,\n");
	expect(text, "\"path\": \"/a.img\"");
	expect(text, "\"engine\": \"auto\",\n      \"cache\": \"none\"");
	expect(text, "{\n          \"engine\": \"aio\",");
	expect(text, "{\n          \"engine\": \"threads\",");
	for (unsigned int i = 0; i < stats_nr_counters; i++) {
		size_t word = stats_counters[i].offset / sizeof(uint64_t);

		if (stats_counters[i].offset == offsetof(struct virtio_blk_stats, queue.completed))
			word--; /* setup() made it the same as popped */
		snprintf(line, sizeof(line), "\"%s\": %zu,", stats_counters[i].name, 3000 + word);
		expect(text, line);
	}
	expect(text, "[0, 0, 1],");
	expect(text, "[4, 7, 1],");
	/* the last bucket ends with the maximum */
	expect(text, "[274877906944, 18446744073709551610, 1]");
	free(text);
}

static void test_no_disks(void **state)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	char *text;

	(void)state;
	assert_non_null(stats);
	text = text_of(stats__json, stats);
	expect(text, "\"disks\": [],");
	free(text);
	free(stats);
}

/* RFC 8259, 7: quotes, backslashes and control characters are escaped; text is UTF-8. */
static void test_strings(void **state)
{
	static const char *const rows[][2] = {
		{"", "\"\""},
		{"a\"b\\c/", "\"a\\\"b\\\\c/\""},
		{"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
		 "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"\xff|\xc3|\x80", "\"\\ufffd|\\ufffd|\\ufffd\""},
		/* too long a form, a surrogate, above U+10FFFF: each byte for itself */
		{"\xc0\xaf", "\"\\ufffd\\ufffd\""},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
		/* cut off by the end of the text */
		{"a\xe2\x82", "\"a\\ufffd\\ufffd\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json json = {0};
		char *text;
		size_t size;

		json.out = open_memstream(&text, &size);
		assert_non_null(json.out);
		json__string(&json, NULL, rows[i][0]);
		fclose(json.out);
		assert_string_equal(text, rows[i][1]);
		free(text);
	}
}

/* A row for each queue, each disk of more than one, and for all. */
static void test_table(void **state)
{
	struct rig *r = *state;
	char *text;

	r->stats.disk[0].path = "odd\nname";
	stats__sum(&r->stats);
	text = text_of(stats__table, &r->stats);
	expect(text, "disk 0: engine aio (queue 0), threads (queue 1), odd?name\n");
	expect(text, "disk 1: engine null, null:1G\n");
	expect(text, "\n0.0    ");
	expect(text, "\n0.1    ");
	expect(text, "\n0      ");
	expect(text, "\n1.0    ");
	expect(text, "\nall    ");
	assert_null(strstr(text, "\n1      "));
	free(text);
	r->stats.disk[0].served_by[1] = "aio";
	text = text_of(stats__table, &r->stats);
	expect(text, "disk 0: engine aio, odd?name\n");
	free(text);
}

#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_sums),
		cmocka_unit_test(test_ratios),
		RIG_TEST(test_unbalanced),
		RIG_TEST(test_json),
		cmocka_unit_test(test_no_disks),
		cmocka_unit_test(test_strings),
		RIG_TEST(test_table),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
