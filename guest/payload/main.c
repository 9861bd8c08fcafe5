// SPDX-License-Identifier: GPL-2.0-only
#include "trap.h"

static const struct {
	const char *name;
	int (*run)(void);
} tests[] = {
	{"hello", test__hello},	      {"poweroff", test__poweroff},
	{"reset", test__reset},	      {"cf9", test__cf9},
	{"triple", test__triple},     {"spin", test__spin},
	{"hlt", test__hlt},	      {"exception", test__exception},
	{"crash", test__crash},	      {"ram", test__ram},
	{"ids", test__ids},	      {"pci", test__pci},
	{"blk", test__blk},	      {"bench", test__bench},
	{"layout", test__layout},     {"align", test__align},
	{"readonly", test__readonly}, {"notify", test__notify},
	{"lines", test__lines},	      {"bar", test__bar},
	{"durable", test__durable},   {"hostile", test__hostile},
	{"reinit", test__reinit},     {"queue", test__queue},
	{"irq", test__irq},	      {"state", test__state},
	{"cpus", test__cpus},	      {"hreg", test__hreg},
	{"hreset", test__hreset},     {"some", test__some},
	{"wedge", test__wedge},	      {"panic", test__panic},
	{"dialogue", test__dialogue}, {"endless", test__endless},
};

/* then=hlt: the VM goes on, and does nothing more. */
static void end(int status)
{
	char then[8] = "exit";

	cmdline__get("then", then, sizeof(then));
	if (!status && !strcmp(then, "hlt"))
		status = test__hlt();
	power__exit(status);
}

void payload__start(uint64_t boot_params, uint32_t pvh_info);

void payload__start(uint64_t boot_params, uint32_t pvh_info)
{
	char name[32] = "hello";
	unsigned int i;

	trap__init();
	console__init();
	boot__init(boot_params, pvh_info);
	cmdline__get("test", name, sizeof(name));
	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (!strcmp(name, tests[i].name))
			end(tests[i].run());
	panic("no test named '%s'", name);
}
