// SPDX-License-Identifier: GPL-2.0-only
/* The command line of lkvm run: values, defaults, and one clear line for each mistake. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kvm/cmd/options.h"
#include "kvm/cmd/params.h"

#define MAX_ARGS 80

/* Split @line at blanks and parse it; argv lives as long as the caller's buffer. */
static int parse(struct run_options *opts, char *line, struct lk_err *err)
{
	static char *argv[MAX_ARGS];
	int argc = 0;
	char *word, *save;

	argv[argc++] = (char *)"run";
	for (word = strtok_r(line, " ", &save); word && argc < MAX_ARGS - 1;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	err->msg[0] = '\0';
	return options__parse(opts, argc, argv, err);
}

static void test_defaults(void **state)
{
	char line[] = "-k bz";
	struct run_options o;
	struct lk_err err;

	(void)state;
	assert_int_equal(parse(&o, line, &err), 0);
	assert_string_equal(o.kernel, "bz");
	assert_null(o.initrd);
	assert_int_equal(o.mem, 512ULL << 20);
	assert_int_equal(o.cpus, 1);
	assert_int_equal(o.nr_disks, 0);
	assert_false(o.rng);
	assert_int_equal(o.loglevel, LOG_LEVEL_WARNING);
	options__free(&o);
}

static void test_forms(void **state)
{
	/* the same thing in long, short, glued and '=' form */
	static const char *const forms[] = {
		"-k bz -m 64 -c 3 -i rd -p a",
		"--kernel bz --mem 64 --cpus 3 --initrd rd --params a",
		"--kernel=bz --mem=64M --cpus=3 --initrd=rd --params=a",
		"-kbz -m64 -c3 -ird -pa",
		"bz --mem 65536K -c 3 -i rd -p a",
		"-m 64 -c 3 bz -i rd -p a",
		"-m 64 -c 3 -i rd -p a -- bz",
		"bz --mem 64MiB -c 3 -i rd -p a",
	};
	char line[128];
	struct run_options o;
	struct lk_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		strcpy(line, forms[i]);
		assert_int_equal(parse(&o, line, &err), 0);
		assert_string_equal(o.kernel, "bz");
		assert_int_equal(o.mem, 64ULL << 20);
		assert_int_equal(o.cpus, 3);
		assert_string_equal(o.initrd, "rd");
		assert_string_equal(o.params, "a");
		options__free(&o);
	}
}

static void test_mistakes(void **state)
{
	/* the line, and words that the message has to have */
	static const char *const rows[][3] = {
		{"-k a -k b", "'a' and 'b'", "one"},
		{"a b", "'a' and 'b'", "one"},
		{"-k a b", "'a' and 'b'", "one"},
		{"-c 0", "-c 0", "from 1"},
		{"-c x", "-c x", "number"},
		{"-c -1", "-c -1", "number"},
		{"-m 1", "-m 1", "at least 2 MiB"},
		{"-m 0", "-m 0", "at least"},
		{"-m 12Q", "12Q", "size"},
		{"-m 99999999999999T", "99999999999999T", "too large"},
		{"-m 99999999999999999999", "99999999999999999999", "too large"},
		{"-m +64", "-m +64", "size"},
		{"-m -64", "-m -64", "size"},
		{"-m 0x40", "-m 0x40", "size"},
		{"-c +2", "-c +2", "number"},
		{"-c 2x", "-c 2x", "number"},
		{"-c 99999999999999999999", "-c 9999", "1 to 4096"},
		{"--kernel=", "kernel is empty", "-k FILE"},
		{"--initrd=", "initrd is empty", "-i FILE"},
		{"-p a -p b", "-p", "once"},
		{"-i a -i b", "-i", "once"},
		{"--debug -Zk", "unknown option '-Z'", "lkvm help run"},
		{"--debug -hZk", "unknown option '-Z'", "lkvm help run"},
		{"--p9", "--p9", "unknown"},
		{"--n x", "--n", "ambiguous"},
		{"--frob", "--frob", "lkvm help run"},
		{"-z", "-z", "lkvm help run"},
		{"--9p x", "--9p", "disk image"},
		{"--vsock 3", "--vsock", "not in lkvm"},
		{"--balloon", "--balloon", "-m"},
		{"--vfio-pci 0:1", "--vfio-pci", "not in lkvm"},
		{"--sdl", "--sdl", "serial"},
		{"--firmware x", "--firmware", "-k"},
		{"-f x", "-f", "-k"},
		{"--rng=3", "--rng", "no argument"},
		{"-k", "-k", "argument"},
		{"--disk", "--disk", "argument"},
		{"--console virtio", "virtio", "serial"},
		{"-n mode=tap", "tap", "none"},
		{"--loglevel loud", "loud", "debug"},
		{"-d x,frob=1", "'frob'", "queues="},
		{"-d ,ro", "-d", "no image"},
		{"-d x,serial=a -d y,serial=a", "'a'", "each disk"},
		{"-d x,serial=lkvm-disk-1 -d y", "lkvm-disk-1", "each disk"},
		{"--name a/b", "a/b", "characters"},
	};
	char line[128];
	struct run_options o;
	struct lk_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(line, rows[i][0]);
		if (parse(&o, line, &err) != -EINVAL)
			fail_msg("'%s' was accepted", rows[i][0]);
		if (!strstr(err.msg, rows[i][1]) || !strstr(err.msg, rows[i][2]))
			fail_msg("'%s' gives: %s", rows[i][0], err.msg);
		assert_null(strchr(err.msg, '\n'));
		options__free(&o);
	}
}

static void test_many_disks(void **state)
{
	char line[512] = "", *p = line;
	struct run_options o;
	struct lk_err err;
	int i, j;

	(void)state;
	for (i = 0; i < OPTIONS_MAX_DISKS; i++)
		p += sprintf(p, "-d x%d ", i);
	assert_true(OPTIONS_MAX_DISKS >= 24);
	assert_int_equal(parse(&o, line, &err), 0);
	assert_int_equal(o.nr_disks, OPTIONS_MAX_DISKS);
	/* default serials differ and do not depend on the run */
	assert_string_equal(o.disk[0].serial, "lkvm-disk-0");
	for (i = 0; i < OPTIONS_MAX_DISKS; i++)
		for (j = 0; j < i; j++)
			assert_string_not_equal(o.disk[i].serial, o.disk[j].serial);
	options__free(&o);

	p = line;
	for (i = 0; i <= OPTIONS_MAX_DISKS; i++)
		p += sprintf(p, "-d x%d ", i);
	assert_int_equal(parse(&o, line, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "at most"));
	options__free(&o);
}

static void check_params(const char *args, const char *params, const char *want)
{
	char line[128], buf[256];
	struct run_options o;
	struct lk_err err;

	strcpy(line, args);
	assert_int_equal(parse(&o, line, &err), 0);
	o.params = params;
	assert_int_equal(params__build(buf, sizeof(buf), &o, &err), 0);
	assert_string_equal(buf, want);
	options__free(&o);
}

static void test_params(void **state)
{
	struct run_options o = {.params = "0123456789"};
	struct lk_err err;
	char buf[8];

	(void)state;
	check_params("k", NULL, "console=ttyS0 reboot=k panic=1");
	check_params("k -d x", NULL, "console=ttyS0 reboot=k panic=1 root=/dev/vda rw");
	check_params("k -d x,ro", NULL, "console=ttyS0 reboot=k panic=1 root=/dev/vda ro");
	check_params("k -d x", "quiet", "console=ttyS0 reboot=k panic=1 root=/dev/vda rw quiet");
	check_params("k -d x", "root=/dev/vdb1", "console=ttyS0 reboot=k panic=1 root=/dev/vdb1");
	/* a word that only ends in root= is not root= */
	check_params("k -d x", "myroot=1",
		     "console=ttyS0 reboot=k panic=1 root=/dev/vda rw myroot=1");
	check_params("k -d x --nodefaults", "quiet", "quiet");
	check_params("k -d x --nodefaults", NULL, "");

	assert_int_equal(params__build(buf, sizeof(buf), &o, &err), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_forms),
		cmocka_unit_test(test_mistakes), cmocka_unit_test(test_many_disks),
		cmocka_unit_test(test_params),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
