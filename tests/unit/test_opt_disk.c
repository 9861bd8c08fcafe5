// SPDX-License-Identifier: GPL-2.0-only
/* The argument of -d: each option's values and defaults, and one clear line for each mistake. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kvm/cmd/options.h"

static struct disk_option parse(const char *arg)
{
	struct disk_option d;
	struct lk_err err = {""};

	if (options__disk(&d, arg, &err))
		fail_msg("'%s' was refused: %s", arg, err.msg);
	return d;
}

/* @arg is refused, in one line that has @what and @remedy. */
static void refuse(const char *arg, const char *what, const char *remedy)
{
	struct disk_option d;
	struct lk_err err = {""};

	if (options__disk(&d, arg, &err) != -EINVAL)
		fail_msg("'%s' was accepted", arg);
	assert_null(d.path);
	if (!strstr(err.msg, what) || !strstr(err.msg, remedy))
		fail_msg("'%s' gives: %s", arg, err.msg);
	assert_null(strchr(err.msg, '\n'));
}

static void test_defaults(void **state)
{
	struct disk_option d = parse("/a/b.img");

	(void)state;
	assert_string_equal(d.path, "/a/b.img");
	assert_false(d.read_only || d.null || d.has_serial || d.fault);
	assert_int_equal(d.engine, DISK_ENGINE_AUTO);
	assert_int_equal(d.cache, DISK_CACHE_WRITEBACK);
	assert_false(d.packed || d.no_event_idx || d.no_indirect);
	assert_int_equal(d.queue_size, 256);
	assert_int_equal(d.queues, 0);
	assert_int_equal(d.vectors, -1);
	assert_false(d.tuning.no_suppress || d.tuning.pinned);
	assert_int_equal(d.tuning.batch, 0);
	assert_int_equal(d.tuning.poll, VIRTIO_BLK_AUTO);
	assert_int_equal(d.tuning.coalesce, VIRTIO_BLK_AUTO);
	free(d.path);
}

static void test_together(void **state)
{
	struct disk_option d = parse("x,ro,direct,queues=16,vectors=0,serial=s,format=raw");

	(void)state;
	assert_true(d.read_only && d.cache == DISK_CACHE_NONE && d.has_serial);
	assert_int_equal(d.queues, 16);
	assert_int_equal(d.vectors, 0);
	assert_string_equal(d.serial, "s");
	free(d.path);

	/* a comma is written twice, in the path and in a value */
	d = parse("a,,b.img,serial=x,,y");
	assert_string_equal(d.path, "a,b.img");
	assert_string_equal(d.serial, "x,y");
	free(d.path);
}

/* 20 bytes fit, non-ASCII bytes are taken as they are, empty is a value. */
static void test_serial(void **state)
{
	static const char *const serials[] = {"12345678901234567890", "\xc3\xa4", ""};
	char arg[64];

	(void)state;
	for (size_t i = 0; i < sizeof(serials) / sizeof(serials[0]); i++) {
		struct disk_option d;

		snprintf(arg, sizeof(arg), "x,serial=%s", serials[i]);
		d = parse(arg);
		assert_true(d.has_serial);
		assert_string_equal(d.serial, serials[i]);
		free(d.path);
	}
	refuse("x,serial=123456789012345678901", "21 bytes", "20");
	refuse("x,serial=123456789012345678901234567890123456", "36 bytes", "20");
	refuse("x,serial", "'serial'", "serial=TEXT");
}

static void test_engine(void **state)
{
	static const struct {
		const char *arg;
		enum disk_engine_kind engine;
	} rows[] = {
		{"x,engine=auto", DISK_ENGINE_AUTO},
		{"x,engine=aio", DISK_ENGINE_AIO},
		{"x,engine=uring", DISK_ENGINE_URING},
		{"x,engine=threads", DISK_ENGINE_THREADS},
		{"null:1G,engine=null", DISK_ENGINE_NULL},
		{"null:1G,engine=auto", DISK_ENGINE_NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct disk_option d = parse(rows[i].arg);

		assert_int_equal(d.engine, rows[i].engine);
		free(d.path);
	}
	refuse("x,engine=libaio", "engine=libaio", "aio, uring");
	refuse("x,engine=", "engine=", "aio, uring");
	refuse("x,engine", "'engine'", "engine=NAME");
	refuse("x,engine=null", "engine=null", "null:SIZE");
	refuse("null:1G,engine=aio", "null:1G", "leave engine= out");
}

static void test_cache(void **state)
{
	static const struct {
		const char *arg;
		enum disk_cache cache;
	} rows[] = {
		{"x,cache=writeback", DISK_CACHE_WRITEBACK},
		{"x,cache=none", DISK_CACHE_NONE},
		{"x,cache=writethrough", DISK_CACHE_WRITETHROUGH},
		{"x,cache=unsafe", DISK_CACHE_UNSAFE},
		{"x,direct", DISK_CACHE_NONE},
		{"x,direct,cache=none", DISK_CACHE_NONE},
		{"x,cache=none,direct", DISK_CACHE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct disk_option d = parse(rows[i].arg);

		assert_int_equal(d.cache, rows[i].cache);
		free(d.path);
	}
	refuse("x,cache=directsync", "cache=directsync", "writethrough");
	refuse("x,cache", "'cache'", "cache=MODE");
	refuse("x,direct=1", "'direct'", "no value");
	refuse("x,direct,cache=writeback", "'direct'", "leave one");
	refuse("x,cache=unsafe,direct", "'direct'", "leave one");
}

static void test_switches(void **state)
{
	struct disk_option d = parse("x,packed=on,event_idx=off,indirect=off,suppress=off");

	(void)state;
	assert_true(d.packed && d.no_event_idx && d.no_indirect && d.tuning.no_suppress);
	free(d.path);
	d = parse("x,packed=off,event_idx=on,indirect=on,suppress=on");
	assert_false(d.packed || d.no_event_idx || d.no_indirect || d.tuning.no_suppress);
	free(d.path);
	refuse("x,packed=yes", "packed=yes", "on or off");
	refuse("x,packed", "'packed'", "packed=on|off");
	refuse("x,event_idx=0", "event_idx=0", "on or off");
	refuse("x,indirect=", "indirect=", "on or off");
	refuse("x,suppress=ON", "suppress=ON", "on or off");
}

static void test_numbers(void **state)
{
	struct disk_option d = parse("x,qsize=1024,batch=1024,queues=1,vectors=2");

	(void)state;
	assert_int_equal(d.queue_size, 1024);
	assert_int_equal(d.tuning.batch, 1024);
	free(d.path);
	d = parse("x,batch=1,qsize=16");
	assert_int_equal(d.queue_size, 16);
	assert_int_equal(d.tuning.batch, 1);
	free(d.path);
	refuse("x,qsize=8", "qsize=8", "16 to 1024");
	refuse("x,qsize=2048", "qsize=2048", "16 to 1024");
	refuse("x,qsize=100", "qsize=100", "power of two");
	refuse("x,batch=0", "batch=0", "1 to 1024");
	refuse("x,batch=1025", "batch=1025", "1 to 1024");
	refuse("x,batch=512", "batch=512", "at most 256"); /* of the default ring */
	refuse("x,batch=64,qsize=32", "batch=64", "at most 32");
	refuse("x,queues=0", "queues=0", "1 to 16");
	refuse("x,queues=17", "queues=17", "1 to 16");
	refuse("x,queues", "queues=", "1 to 16");
	refuse("x,vectors=18", "vectors=18", "17");
	refuse("x,queues=2,vectors=4", "vectors=4", "at most 3");
}

static void test_poll(void **state)
{
	struct disk_option d = parse("x,poll=off");

	(void)state;
	assert_int_equal(d.tuning.poll, VIRTIO_BLK_OFF);
	free(d.path);
	d = parse("x,poll=auto");
	assert_int_equal(d.tuning.poll, VIRTIO_BLK_AUTO);
	free(d.path);
	d = parse("x,poll=50");
	assert_int_equal(d.tuning.poll, VIRTIO_BLK_FIXED);
	assert_int_equal(d.tuning.poll_ns, 50000);
	free(d.path);
	refuse("x,poll=0", "poll=0", "off");
	refuse("x,poll=on", "poll=on", "microseconds");
	refuse("x,poll=100001", "poll=100001", "100000");
	refuse("x,poll=5us", "poll=5us", "microseconds");
	refuse("x,poll=-1", "poll=-1", "microseconds");
	refuse("x,poll=99999999999999999999999999", "poll=999", "100000");
}

static void test_coalesce(void **state)
{
	static const char *const pairs[] = {"x,coalesce=100,,8", "x,coalesce=100:8"};
	struct disk_option d = parse("x,coalesce=off");

	(void)state;
	assert_int_equal(d.tuning.coalesce, VIRTIO_BLK_OFF);
	free(d.path);
	d = parse("x,coalesce=250");
	assert_int_equal(d.tuning.coalesce, VIRTIO_BLK_FIXED);
	assert_int_equal(d.tuning.coalesce_ns, 250000);
	assert_int_equal(d.tuning.coalesce_nr, 0);
	free(d.path);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		d = parse(pairs[i]);
		assert_int_equal(d.tuning.coalesce, VIRTIO_BLK_FIXED);
		assert_int_equal(d.tuning.coalesce_ns, 100000);
		assert_int_equal(d.tuning.coalesce_nr, 8);
		free(d.path);
	}
	refuse("x,coalesce=0", "coalesce=0", "off");
	refuse("x,coalesce=auto:8", "coalesce=auto:8", "USEC:N");
	refuse("x,coalesce=off,,8", "coalesce=off,8", "USEC:N");
	refuse("x,coalesce=100:", "coalesce=100:", "USEC:N");
	refuse("x,coalesce=100:0", "coalesce=100:0", "1 to 1024");
	refuse("x,coalesce=:8", "coalesce=:8", "USEC:N");
	refuse("x,coalesce=100:512", "512", "at most 256");
	refuse("x,coalesce=100,8", "'8'", "coalesce=");
}

/* Whatever CPUs this process has: the first and the last of them, and one beyond. */
static void test_cpus(void **state)
{
	struct disk_option d;
	int first = 0, last = CPU_SETSIZE - 1;
	char arg[64], word[32];
	cpu_set_t set;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(first, &set))
		first++;
	while (!CPU_ISSET(last, &set))
		last--;

	snprintf(arg, sizeof(arg), "x,cpus=%d", last);
	d = parse(arg);
	assert_true(d.tuning.pinned);
	assert_int_equal(CPU_COUNT(&d.tuning.cpus), 1);
	assert_true(CPU_ISSET(last, &d.tuning.cpus));
	free(d.path);

	for (int i = 0; i < 2; i++) {
		snprintf(arg, sizeof(arg), "x,cpus=%d-%d%s%d", first, first, i ? ":" : ",,", last);
		d = parse(arg);
		assert_int_equal(CPU_COUNT(&d.tuning.cpus), first == last ? 1 : 2);
		assert_true(CPU_ISSET(first, &d.tuning.cpus) && CPU_ISSET(last, &d.tuning.cpus));
		free(d.path);
	}

	snprintf(word, sizeof(word), "CPU %d ", last + 1);
	snprintf(arg, sizeof(arg), "x,cpus=%d-%d", last, last + 1);
	if (last + 1 < CPU_SETSIZE)
		refuse(arg, word, "it has");
	refuse("x,cpus=", "cpus=", "such as");
	refuse("x,cpus=a", "cpus=a", "such as");
	refuse("x,cpus=1-", "cpus=1-", "such as");
	refuse("x,cpus=1-0", "cpus=1-0", "such as");
	refuse("x,cpus=0:", "cpus=0:", "such as");
	refuse("x,cpus=99999999", "cpus=99999999", "such as");
	refuse("x,cpus", "'cpus'", "cpus=LIST");
}

/* One CPU of those there are is taken away: it cannot be given. */
static void test_cpus_allowed(void **state)
{
	cpu_set_t all, one;
	char arg[32];
	int last = CPU_SETSIZE - 1;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2)
		skip(); /* one CPU: nothing to take away */
	while (!CPU_ISSET(last, &all))
		last--;
	one = all;
	CPU_CLR(last, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	snprintf(arg, sizeof(arg), "x,cpus=%d", last);
	refuse(arg, "not allowed", "it has");
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void test_null(void **state)
{
	struct disk_option d = parse("null:8G");

	(void)state;
	assert_true(d.null);
	assert_string_equal(d.path, "null:8G");
	assert_int_equal(d.engine, DISK_ENGINE_NULL);
	assert_true(d.null_size == 8ULL << 30);
	assert_int_equal(d.null_latency, 0);
	free(d.path);

	d = parse("null:1M,latency=100,ro,queues=2,packed=on,batch=4,fault=a:b");
	assert_true(d.null_size == 1 << 20);
	assert_int_equal(d.null_latency, 100000);
	assert_true(d.read_only && d.packed);
	assert_string_equal(d.fault, "a:b");
	free(d.path);

	/* the same letters as the name of a file */
	d = parse("./null:8G");
	assert_false(d.null);
	free(d.path);
	d = parse("null");
	assert_false(d.null);
	free(d.path);

	refuse("null:", "null:", "null:8G");
	refuse("null:big", "'big'", "null:8G");
	refuse("null:-1", "'-1'", "null:8G");
	refuse("null:0", "null:0", "512");
	refuse("null:1000", "null:1000", "512");
	refuse("null:8388608T", "null:8388608T", "too large");
	refuse("null:99999999T", "null:99999999T", "too large");
	refuse("null:1G,direct", "'direct'", "leave it out");
	refuse("null:1G,cache=none", "'cache'", "leave it out");
	refuse("null:1G,latency=", "latency=", "microseconds");
	refuse("null:1G,latency=10000001", "latency=10000001", "10000000");
	refuse("x,latency=3", "latency=", "null:SIZE");
	refuse("x,fault=", "fault=", "leave it out");
}

static void test_shape(void **state)
{
	(void)state;
	refuse("x,frob=1", "'frob'", "queues=");
	refuse("x,", "''", "queues=");
	refuse("x,ro=1", "'ro'", "no value");
	refuse(",ro", "-d", "no image");
	refuse("x,ro,ro", "'ro'", "once");
	refuse("x,queues=2,queues=3", "'queues'", "once");
	refuse("x,format=vmdk", "vmdk", "raw");
}

/* Each option is in the help text, in a line of its own. */
static void test_help(void **state)
{
	static const char *const names[] = {
		"ro",	    "direct",	 "engine=",  "cache=",	   "queues=",	"qsize=",
		"vectors=", "packed=",	 "batch=",   "event_idx=", "indirect=", "suppress=",
		"poll=",    "coalesce=", "latency=", "cpus=",	   "serial=",	"format=",
	};
	char *text, word[32];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	options__disk_help(out);
	fclose(out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(word, sizeof(word), "    %s", names[i]);
		if (!strstr(text, word))
			fail_msg("%s is not in the help text", names[i]);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),     cmocka_unit_test(test_together),
		cmocka_unit_test(test_serial),	     cmocka_unit_test(test_engine),
		cmocka_unit_test(test_cache),	     cmocka_unit_test(test_switches),
		cmocka_unit_test(test_numbers),	     cmocka_unit_test(test_poll),
		cmocka_unit_test(test_coalesce),     cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_cpus_allowed), cmocka_unit_test(test_null),
		cmocka_unit_test(test_shape),	     cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests_name("opt_disk", tests, NULL, NULL);
}
