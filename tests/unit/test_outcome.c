// SPDX-License-Identifier: GPL-2.0-only
/* The exit status as a table; the values are those of README.md and lkvm.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>

#include <kvm/cmd/outcome.h>

/* What the console showed: E an --expect that did not match, S all matched, W --wait-end,
 * F --fail-on matched, P panic. */
static const struct {
	enum run_end end;
	int code;
	const char *seen;
	int status;
} cases[] = {
	{RUN_END_POWEROFF, 0, "", 0},
	{RUN_END_RESET, 0, "", 0},
	{RUN_END_EXIT_PORT, 0, "", 0},
	{RUN_END_EXIT_PORT, 1, "", 1},
	{RUN_END_EXIT_PORT, 99, "", 99},
	{RUN_END_EXIT_PORT, 100, "", 99},
	{RUN_END_EXIT_PORT, 255, "", 99},
	{RUN_END_TRIPLE_FAULT, 0, "", 111},
	{RUN_END_TIMEOUT, 0, "", 124},
	{RUN_END_KEYBOARD, 0, "", 130},
	{RUN_END_SIGNAL, SIGINT, "", 130},
	{RUN_END_SIGNAL, SIGTERM, "", 143},
	{RUN_END_KVM_INTERNAL, 1, "", 112},
	{RUN_END_KVM_ENTRY, 7, "", 112},
	{RUN_END_KVM_ERROR, 5, "", 112},
	{RUN_END_HOST, 12, "", 112},
	/* a panic, whatever the guest did then: panic=0, a reset by panic=1 and -1 */
	{RUN_END_PANIC, 0, "P", 110},
	{RUN_END_RESET, 0, "P", 110},
	{RUN_END_POWEROFF, 0, "P", 110},
	{RUN_END_TRIPLE_FAULT, 0, "P", 110},
	{RUN_END_TIMEOUT, 0, "P", 110},
	{RUN_END_EXIT_PORT, 3, "P", 110},
	/* but it is not the guest's word where the host gave up or somebody ended it */
	{RUN_END_KVM_INTERNAL, 1, "P", 112},
	{RUN_END_SIGNAL, SIGTERM, "P", 143},
	{RUN_END_KEYBOARD, 0, "P", 130},
	/* --expect */
	{RUN_END_EXPECTED, 0, "S", 0},
	{RUN_END_POWEROFF, 0, "S", 0}, /* right after the text */
	{RUN_END_EXIT_PORT, 3, "S", 0},
	{RUN_END_TRIPLE_FAULT, 0, "S", 0},
	{RUN_END_POWEROFF, 0, "E", 114},
	{RUN_END_RESET, 0, "E", 114},
	{RUN_END_EXIT_PORT, 0, "E", 114},
	{RUN_END_EXIT_PORT, 3, "E", 3}, /* the guest said more than that */
	{RUN_END_TRIPLE_FAULT, 0, "E", 111},
	{RUN_END_TIMEOUT, 0, "E", 124},
	{RUN_END_PANIC, 0, "EP", 110},
	{RUN_END_SIGNAL, SIGTERM, "E", 143},
	{RUN_END_SIGNAL, SIGTERM, "S", 143},
	/* --wait-end: the end counts as well */
	{RUN_END_POWEROFF, 0, "SW", 0},
	{RUN_END_EXIT_PORT, 3, "SW", 3},
	{RUN_END_TIMEOUT, 0, "SW", 124},
	{RUN_END_TRIPLE_FAULT, 0, "SW", 111},
	{RUN_END_PANIC, 0, "SWP", 110},
	{RUN_END_POWEROFF, 0, "EW", 114},
	/* --fail-on */
	{RUN_END_FAIL_ON, 0, "F", 113},
	{RUN_END_POWEROFF, 0, "F", 113}, /* right after the text */
	{RUN_END_FAIL_ON, 0, "EF", 113},
	{RUN_END_FAIL_ON, 0, "SWF", 113},
	{RUN_END_FAIL_ON, 0, "FP", 113},
	{RUN_END_KVM_ERROR, 5, "F", 112},
};

static bool has(const char *seen, char c)
{
	for (; *seen; seen++)
		if (*seen == c)
			return true;
	return false;
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome_facts facts = {
			.end = cases[i].end,
			.code = cases[i].code,
			.panicked = has(cases[i].seen, 'P'),
			.failed = has(cases[i].seen, 'F'),
			.expecting = has(cases[i].seen, 'E') || has(cases[i].seen, 'S'),
			.satisfied = has(cases[i].seen, 'S'),
			.wait_end = has(cases[i].seen, 'W'),
		};

		if ((int)outcome__decide(&facts) != cases[i].status)
			fail_msg("row %zu: %d, should be %d", i, outcome__decide(&facts),
				 cases[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
