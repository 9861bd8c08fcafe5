// SPDX-License-Identifier: GPL-2.0-only
/* Console text, expressions on it, and what --expect, --fail-on and a panic make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <kvm/cmd/opt_watch.h>
#include <kvm/cmd/watch.h>

/* What the bytes read as; '|' stands for the end of a line. */
static void text_of(const char *bytes, size_t len, char *out)
{
	struct console_text text = {0};

	for (size_t i = 0; i < len; i++) {
		struct console_char c = console_text__byte(&text, (uint8_t)bytes[i]);

		if (c.newline)
			*out++ = '|';
		if (c.has)
			*out++ = c.c;
	}
	*out = '\0';
}

/* ECMA-48: CSI is ESC [ parameters (30-3f), intermediates (20-2f), a final byte (40-7e). */
static void test_text(void **state)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {
		{"plain\tÄ\n", "plain\tÄ|"},
		{"a\r\nb\n\nc", "a|b||c"},
		{"10%\r20%\r\r\n",
		 "10%|20%|"}, /* progress: CR overwrites; CR CR LF ends one line */
		{"\x1b[1;31mred\x1b[0m", "red"},
		{"lo\x1b[Kgin: ", "login: "},
		{"\x1b[?2004h$ ", "$ "},
		{"\x1b]0;title\x07"
		 "after",
		 "after"}, /* OSC, ended by BEL as xterm does */
		{"\x1b]0;title\x1b\\after", "after"}, /* and by ST */
		{"\x1bP1$r\x1b\\x", "x"},
		{"\x1b(Bx\x1b"
		 "7y\x1b=z",
		 "xyz"}, /* charset, save cursor, keypad */
		{"a\bb\x7f\x07"
		 "c",
		 "abc"},
		{"\x1b[12\x18ok", "ok"}, /* CAN gives it up */
		{"\x1b]never ended\nshown",
		 "|shown"}, /* an unfinished one hides no more than its line */
		{"\x1b\x1b[1mx", "x"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text_of(cases[i].bytes, strlen(cases[i].bytes), out);
		assert_string_equal(out, cases[i].text);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"", "(", "[a", "a\nb", "*{", "(a)\\1", "[^]]\\2", "a{2", "[[:nope:]]",
	};
	struct watch_options opts = {0};
	char long_one[PATTERN_MAX + 2];
	struct lk_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(opt_watch__expect(&opts, bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, "--expect"));
	}
	memset(long_one, 'a', sizeof(long_one));
	long_one[PATTERN_MAX + 1] = '\0';
	assert_int_equal(opt_watch__fail_on(&opts, long_one, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--fail-on"));
	assert_int_equal(opts.rules.nr_expect + opts.rules.nr_fail_on, 0);
	/* inside brackets a backslash is an ordinary character (POSIX 9.3.5) */
	assert_int_equal(opt_watch__expect(&opts, "[\\1]", &err), 0);
	assert_int_equal(opt_watch__expect(&opts, long_one + 1, &err), 0);
	opt_watch__free(&opts);
}

/*
 * What the C library would write out until memory ends; found by fuzzing.  The sizes are
 * those of pattern_cost.c: "a{n}" n + 1, "a+" 2, a group one more than what is in it.
 */
static void test_too_large(void **state)
{
	char nested[PATTERN_MAX + 1] = "";
	static const struct {
		const char *source;
		bool too_large;
	} cases[] = {
		{"a{1998}", false},
		{"a{2000}", true},
		{"a{0,2000}", true},
		{"(a{30}){30}", false}, /* 32 * 31 */
		{"(a{60}){60}", true},
		{"((a{20}){20}){20}", true},
		{"M++++++++++", false}, /* 2^10 */
		{"M++++++++++++++++++++++++++++++++++++++++++++++++++++++++", true},
		{"M*****************************************************?", true},
		{"a{99999999999999999999}", true},
		{"[a{9}]{9}", false},
		{"\\{30000}", false}, /* a brace that is meant as it stands */
		{"x{40}needle|(login|Password): $", false},
		{"a{,", false},
		{"a{", false},
		{")+(", false},
		{"[", false},
		{"[]", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (pattern__too_large(cases[i].source) != cases[i].too_large)
			fail_msg("%s", cases[i].source);
	for (int depth = 0; depth < 340; depth++)
		nested[depth] = '(';
	nested[340] = 'a';
	for (int depth = 0; depth < 340; depth++)
		memcpy(nested + 341 + 2 * depth, ")+", 3);
	assert_true(pattern__too_large(nested));
	memset(nested, '(', PATTERN_MAX);
	nested[PATTERN_MAX] = '\0';
	assert_false(pattern__too_large(nested));
}

/* A story: options as on the command line, bytes in pieces, what is to be seen. */
struct story {
	const char *expect[4], *fail_on[3];
	bool wait_end;
	const char *piece[6];
	unsigned int seen;
	int failed; /* index, -1: none */
	enum watch_panic panic;
};

static void play(const struct story *s)
{
	struct watch_options opts = {0};
	struct watch w;

	for (int i = 0; i < 4 && s->expect[i]; i++)
		assert_int_equal(opt_watch__expect(&opts, s->expect[i], NULL), 0);
	for (int i = 0; i < 3 && s->fail_on[i]; i++)
		assert_int_equal(opt_watch__fail_on(&opts, s->fail_on[i], NULL), 0);
	opts.rules.wait_end = s->wait_end;
	watch__init(&w, &opts.rules);
	for (int i = 0; i < 6 && s->piece[i]; i++)
		watch__feed(&w, s->piece[i], strlen(s->piece[i]));
	assert_int_equal(w.seen, s->seen);
	if (s->failed < 0)
		assert_null(w.failed);
	else
		assert_ptr_equal(w.failed, &opts.rules.fail_on[s->failed]);
	assert_int_equal(w.panic, s->panic);
	opt_watch__free(&opts);
}

static const struct story stories[] = {
	/* a prompt has no line end */
	{.expect = {"login: $|login: "}, .piece = {"debian login: "}, .seen = 1, .failed = -1},
	{.expect = {"login:"}, .piece = {"lo", "gin", ":"}, .seen = 1, .failed = -1},
	{.expect = {"login:"}, .piece = {"lo\x1b[", "0mgin", "\x1b[K:"}, .seen = 1, .failed = -1},
	{.expect = {"a b"}, .piece = {"a\nb"}, .seen = 0, .failed = -1},
	/* in order: the second one before the first does not count, even in one line */
	{.expect = {"one", "two"}, .piece = {"two one\n"}, .seen = 1, .failed = -1},
	{.expect = {"one", "two"}, .piece = {"one two\n"}, .seen = 2, .failed = -1},
	{.expect = {"one", "one"}, .piece = {"one\n"}, .seen = 1, .failed = -1},
	{.expect = {"one", "one"}, .piece = {"one", " one"}, .seen = 2, .failed = -1},
	/* "^" is the start of a line, "$" the end of a complete one */
	{.expect = {"^ok$"}, .piece = {"not ok\n", "ok", " not\n"}, .seen = 0, .failed = -1},
	{.expect = {"^ok$"}, .piece = {"ok"}, .seen = 0, .failed = -1},
	{.expect = {"^ok$"}, .piece = {"ok", "\r", "\n"}, .seen = 1, .failed = -1},
	{.expect = {"a", "^b"}, .piece = {"ab\n"}, .seen = 1, .failed = -1},
	/* what came first decides, and nothing after it */
	{.expect = {"good"}, .fail_on = {"bad"}, .piece = {"good\nbad\n"}, .seen = 1, .failed = -1},
	{.expect = {"good"}, .fail_on = {"bad"}, .piece = {"bad\ngood\n"}, .seen = 0, .failed = 0},
	{.fail_on = {"x", "BUG: .*"}, .piece = {"[  1.0] BUG: soft lockup\n"}, .failed = 1},
	{.expect = {"good"},
	 .fail_on = {"bad"},
	 .wait_end = true,
	 .piece = {"good\n", "bad\n"},
	 .seen = 1,
	 .failed = 0},
	/* a panic: at the start of a line, after what printk puts there */
	{.piece = {"[    1.234567] Kernel panic - not syncing: VFS: Unable to mount root fs\n"},
	 .failed = -1,
	 .panic = WATCH_PANIC_BEGUN},
	{.piece = {"<0>[    1.2][    T1] Kernel panic - not syncing: sysrq\r\n",
		   "[ 1.3] CPU: 0\r\n",
		   "[    1.4] ---[ end Kernel panic - not syncing: sysrq ]---\r\n"},
	 .failed = -1,
	 .panic = WATCH_PANIC_OVER},
	{.piece = {"Kernel panic - not sync", "ing: early"},
	 .failed = -1,
	 .panic = WATCH_PANIC_BEGUN},
	{.piece = {"the text \"Kernel panic - not syncing\" is looked for\n"}, .failed = -1},
	{.piece = {"---[ end Kernel panic - not syncing ]---\n"}, .failed = -1},
	{.expect = {"up"},
	 .piece = {"up\nKernel panic - not syncing: late\n"},
	 .seen = 1,
	 .failed = -1},
};

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
		play(&stories[i]);
}

/* However the bytes are cut, the same comes out: each story in single bytes. */
static void test_cut_anywhere(void **state)
{
	static const char bytes[] =
		"boot\r\n\x1b[1mlo\x1b[0mgin: root\r\nKernel panic - not syncing: x\n";
	struct watch_options opts = {0};
	struct watch w;

	(void)state;
	assert_int_equal(opt_watch__expect(&opts, "^login: root$", NULL), 0);
	opts.rules.wait_end = true;
	for (size_t cut = 0; cut < sizeof(bytes); cut++) {
		watch__init(&w, &opts.rules);
		watch__feed(&w, bytes, cut);
		watch__feed(&w, bytes + cut, sizeof(bytes) - 1 - cut);
		assert_int_equal(w.seen, 1);
		assert_int_equal(w.panic, WATCH_PANIC_BEGUN);
		assert_string_equal(w.why, "Kernel panic - not syncing: x");
	}
	opt_watch__free(&opts);
}

/* 1 MiB without a line end: in a window, and a match across its moves is found. */
static void test_endless_line(void **state)
{
	struct watch_options opts = {0};
	static char chunk[1000];
	struct watch w;

	(void)state;
	assert_int_equal(opt_watch__expect(&opts, "x{40}needle", NULL), 0);
	assert_int_equal(opt_watch__expect(&opts, "^", NULL), 0);
	watch__init(&w, &opts.rules);
	memset(chunk, 'x', sizeof(chunk));
	for (size_t sent = 0; sent < 1 << 20; sent += sizeof(chunk))
		watch__feed(&w, chunk, sizeof(chunk));
	assert_int_equal(w.seen, 0);
	assert_true(w.len <= WATCH_LINE);
	for (const char *s = "needle"; *s; s++)
		watch__feed(&w, s, 1);
	assert_int_equal(w.seen, 1); /* this is not the start of the line */
	watch__feed(&w, "\n", 1);
	assert_int_equal(w.seen, 2);
	opt_watch__free(&opts);
}

static void test_send(void **state)
{
	static const char *const bad[] = {"", "\\", "a\\q", "\\x1", "\\xg0", "\\x"};
	struct watch_options opts = {0};
	struct lk_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(opt_watch__send(&opts, bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, "--send"));
	}
	assert_int_equal(opt_watch__send(&opts, "\\e[A\\\\\\t\\x00z\\r\\n", &err), 0);
	assert_int_equal(opts.send[0].len, 9);
	assert_memory_equal(opts.send[0].bytes, "\x1b[A\\\t\0z\r\n", 9);
	assert_int_equal(opts.send[0].after, 0);
	assert_int_equal(opt_watch__check(&opts, &err), 0);
	assert_int_equal(opt_watch__expect(&opts, "login", &err), 0);
	assert_int_equal(opt_watch__send(&opts, "root", &err), 0);
	assert_int_equal(opts.send[1].after, 1);
	/* the run ends with that match */
	assert_int_equal(opt_watch__check(&opts, &err), -EINVAL);
	opts.rules.wait_end = true;
	assert_int_equal(opt_watch__check(&opts, &err), 0);
	opts.rules.wait_end = false;
	assert_int_equal(opt_watch__expect(&opts, "#", &err), 0);
	assert_int_equal(opt_watch__check(&opts, &err), 0);
	opt_watch__free(&opts);
	opts.rules.wait_end = true; /* for nothing */
	assert_int_equal(opt_watch__check(&opts, &err), -EINVAL);
}

static void test_timeout(void **state)
{
	static const struct {
		const char *arg;
		unsigned int seconds; /* 0: refused */
	} cases[] = {
		{"1", 1},	 {"90s", 90},
		{"5m", 300},	 {"31536000", 31536000},
		{"0", 0},	 {"", 0},
		{"s", 0},	 {"1h", 0},
		{"-1", 0},	 {"1.5", 0},
		{"m5", 0},	 {" 1", 0},
		{"31536001", 0}, {"99999999999999999999", 0},
		{"525601m", 0},
	};
	struct lk_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct watch_options opts = {0};
		int ret = opt_watch__timeout(&opts, cases[i].arg, &err);

		assert_int_equal(ret, cases[i].seconds ? 0 : -EINVAL);
		assert_int_equal(opts.timeout, cases[i].seconds);
		if (!ret)
			assert_int_equal(opt_watch__timeout(&opts, "1", &err), -EINVAL);
	}
}

static void test_too_many(void **state)
{
	struct watch_options opts = {0};
	struct lk_err err;

	(void)state;
	for (int i = 0; i < WATCH_PATTERNS; i++) {
		assert_int_equal(opt_watch__expect(&opts, "a", &err), 0);
		assert_int_equal(opt_watch__fail_on(&opts, "b", &err), 0);
		assert_int_equal(opt_watch__send(&opts, "c", &err), 0);
	}
	assert_int_equal(opt_watch__expect(&opts, "a", &err), -EINVAL);
	assert_int_equal(opt_watch__fail_on(&opts, "b", &err), -EINVAL);
	assert_int_equal(opt_watch__send(&opts, "c", &err), -EINVAL);
	opt_watch__free(&opts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_large),    cmocka_unit_test(test_stories),
		cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_endless_line),
		cmocka_unit_test(test_send),	     cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
