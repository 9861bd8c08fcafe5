/* SPDX-License-Identifier: GPL-2.0-only */
/* What every engine for real images does alike; what is special to one is in its own tests. */
#include "disk_rig.h"

static enum disk_engine_kind kinds[] = {DISK_ENGINE_AIO, DISK_ENGINE_URING, DISK_ENGINE_THREADS};

static int setup(void **state)
{
	enum disk_engine_kind kind = *(enum disk_engine_kind *)*state;
	int rc = rig__setup(state);

	if (!rc)
		((struct rig *)*state)->engine = kind;
	return rc;
}

/* O_DIRECT, with the engine by name: what the host or the build refuses is skipped. */
static void start(struct rig *rig, uint64_t size, unsigned int depth)
{
	int rc;

	rig__make_file(rig, size);
	rc = rig__open_as(rig, true, false);
	if (rc == -EPERM || rc == -ENOSYS || rc == -EINVAL) {
		print_message("skipped: %s\n", rig->err.msg);
		skip();
	}
	if (rc)
		fail_msg("%s", rig->err.msg);
	rig__add_queue(rig, depth);
}

/* More pieces than one call takes (IOV_MAX): several calls, and no transfer counts as short. */
static void more_buffers_than_one_call_takes(void **state)
{
	struct rig *rig = *state;

	start(rig, 2 << 20, 8);
	rig__vectors(rig);
	assert_int_equal(rig->q[0].stats.shorts, 0);
}

/* Same, where the host takes no piece of 512: through the copy, in pieces of its size. */
static void bounced_in_pieces(void **state)
{
	struct rig *rig = *state;

	start(rig, 2 << 20, 8);
	rig__set_align(rig, 4096);
	rig->disk.geo.offset_align = 512;
	rig__vectors(rig);
	assert_int_equal(rig->q[0].stats.bounced, 2);
	assert_int_equal(rig->q[0].stats.shorts, 0);
}

/* Somebody makes the file shorter meanwhile: an error, of the missing part alone. */
static void truncated_file(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(4096);

	start(rig, 65536, 8);
	assert_int_equal(truncate(rig->path, 6144 + 100), 0);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 4096, buf, 4096), -EIO);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 8192, buf, 4096), -EIO);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), 0);
	free(buf);
}

static void every_request_comes_back(void **state)
{
	struct rig *rig = *state;

	start(rig, 256 * 4096, 256);
	rig__many(rig, 256);
	assert_int_equal(rig->q[0].in_flight, 0);
}

int main(void)
{
#define T(f, kind) cmocka_unit_test_prestate_setup_teardown(f, setup, rig__teardown, kind)
#define EVERY(f) T(f, &kinds[0]), T(f, &kinds[1]), T(f, &kinds[2])
	const struct CMUnitTest tests[] = {
		EVERY(more_buffers_than_one_call_takes),
		EVERY(bounced_in_pieces),
		EVERY(truncated_file),
		EVERY(every_request_comes_back),
	};

	return cmocka_run_group_tests_name("disk engines", tests, NULL, NULL);
}
