/* SPDX-License-Identifier: GPL-2.0-only */
/* The choice of the engine where the host refuses one. */
#include <libaio.h>
#include <sys/wait.h>

#include "disk_rig.h"

static int open_kind(struct rig *rig, enum disk_engine_kind kind, enum disk_cache cache)
{
	struct disk_params params = {.path = rig->path, .engine = kind, .cache = cache};

	rig->err.msg[0] = '\0';
	return disk__open(&rig->disk, &params, &rig->err);
}

static void expect_word(const char *line, const char *word)
{
	if (!strstr(line, word))
		fail_msg("'%s' lacks '%s'", line, word);
	assert_null(strchr(line, '\n'));
}

static unsigned long limit(const char *name)
{
	char path[64];
	unsigned long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/fs/%s", name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &n), 1);
	fclose(f);
	return n;
}

static void by_name(void **state)
{
	static const struct {
		enum disk_engine_kind kind;
		const char *name;
	} kinds[] = {{DISK_ENGINE_AIO, "aio"}, {DISK_ENGINE_THREADS, "threads"}};
	struct rig *rig = *state;
	char buf[512] = {0};
	unsigned int i;

	rig__make_file(rig, 65536);
	for (i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		bool direct = i % 2;
		int rc = open_kind(rig, kinds[i / 2].kind,
				   direct ? DISK_CACHE_NONE : DISK_CACHE_WRITEBACK);

		if (rc == -EINVAL && direct)
			continue; /* no O_DIRECT here */
		assert_int_equal(rc, 0);
		expect_word(rig->disk.note, kinds[i / 2].name);
		rig__add_queue(rig, 4);
		assert_string_equal(rig->q[0].engine->name, kinds[i / 2].name);
		assert_int_equal(rig__io(&rig->q[0], DISK_WRITE, 512, buf, 512), 0);
		rig__stop(rig);
	}
}

/*
 * All contexts of the host but @room taken by this process.  Contexts are
 * counted by what was asked for, so many small ones make the exact number.
 */
struct hog {
	io_context_t ctx[64];
	unsigned int nr;
};

static bool hog__take(struct hog *hog, unsigned long room)
{
	hog->nr = 0;
	while (hog->nr < ARRAY_SIZE(hog->ctx)) {
		unsigned long max = limit("aio-max-nr"), used = limit("aio-nr");
		unsigned long want = max > used + room ? max - used - room : 0;

		if (!want)
			return true;
		hog->ctx[hog->nr] = NULL;
		if (io_setup(want < 8192 ? want : 8192, &hog->ctx[hog->nr]))
			return false;
		hog->nr++;
	}
	return false;
}

static void hog__release(struct hog *hog)
{
	while (hog->nr)
		io_destroy(hog->ctx[--hog->nr]);
}

static int init_queue(struct rig *rig, unsigned int depth)
{
	struct disk_queue *q = &rig->q[rig->nr_queues];
	struct disk_queue_params params = {.depth = depth, .wakefd = eventfd(0, EFD_CLOEXEC)};
	int rc = disk_queue__init(q, &rig->disk, &params, &rig->err);

	if (rc) {
		close(params.wakefd);
		return rc;
	}
	disk_queue__attach(q);
	rig->nr_queues++;
	return 0;
}

/* The second queue meets the limit: another engine for it, the first keeps its own. */
static void no_more_aio(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(4096);
	struct hog hog;
	unsigned int i;
	bool full;

	rig__make_file(rig, 65536);
	if (open_kind(rig, DISK_ENGINE_AUTO, DISK_CACHE_NONE))
		skip();
	rig->disk.engine = &disk_aio_ops; /* whatever else would come first here */
	rig__add_queue(rig, 8);
	full = hog__take(&hog, 0);
	if (!full) {
		hog__release(&hog);
		free(buf);
		skip(); /* somebody has the limit very high, or moves it */
	}
	rig__add_queue(rig, 8);
	hog__release(&hog);
	assert_string_equal(rig->q[0].engine->name, "aio");
	assert_string_not_equal(rig->q[1].engine->name, "aio");
	assert_string_equal(rig->q[0].served_by, "aio");
	assert_string_equal(rig->q[1].served_by, rig->q[1].engine->name);
	expect_word(rig->disk.note, "fs.aio-max-nr");
	expect_word(rig->disk.note, "for the other queues");
	for (i = 0; i < 2; i++) { /* both reach the same bytes */
		rig__fill(buf, i * 4096, 4096);
		assert_int_equal(rig__io(&rig->q[i], DISK_WRITE, i * 4096, buf, 4096), 0);
		memset(buf, 0, 4096);
		assert_int_equal(rig__io(&rig->q[1 - i], DISK_READ, i * 4096, buf, 4096), 0);
		rig__check(buf, i * 4096, 4096);
	}
	free(buf);
}

/* By name it is an error that names limit, use and remedy, and a later try works. */
static void named_aio_at_the_limit(void **state)
{
	struct rig *rig = *state;
	struct hog hog;
	char taken[32];
	bool full;
	int rc;

	rig__make_file(rig, 65536);
	if (open_kind(rig, DISK_ENGINE_AIO, DISK_CACHE_NONE))
		skip();
	full = hog__take(&hog, 0);
	snprintf(taken, sizeof(taken), "%lu", limit("aio-nr"));
	rc = init_queue(rig, 8);
	hog__release(&hog);
	if (!full)
		skip();
	assert_int_equal(rc, -EAGAIN);
	expect_word(rig->err.msg, rig->path);
	expect_word(rig->err.msg, "fs.aio-max-nr");
	expect_word(rig->err.msg, taken);
	assert_int_equal(init_queue(rig, 8), 0);
}

/*
 * A context takes what the depth needs and gives it back.  The kernel counts
 * what was asked for at least, and fills the page of the ring up.
 */
static void contexts_are_sized_and_returned(void **state)
{
	struct rig *rig = *state;
	unsigned long before, with;

	rig__make_file(rig, 65536);
	if (open_kind(rig, DISK_ENGINE_AIO, DISK_CACHE_NONE))
		skip();
	before = limit("aio-nr");
	assert_int_equal(init_queue(rig, 16), 0);
	with = limit("aio-nr");
	if (with < before)
		skip(); /* others on this host come and go */
	assert_in_range(with - before, 16, 1024);
	rig__stop(rig);
	assert_true(limit("aio-nr") < with);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig__setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(by_name),
		T(no_more_aio),
		T(named_aio_at_the_limit),
		T(contexts_are_sized_and_returned),
	};

	return cmocka_run_group_tests_name("disk choose", tests, NULL, NULL);
}
