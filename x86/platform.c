// SPDX-License-Identifier: GPL-2.0-only
/*
 * The platform devices' places in the port space.
 */
#include <errno.h>
#include <string.h>

#include <lkvm/x86_map.h>
#include <lkvm/x86_platform.h>

static const struct {
	uint16_t port;
	uint8_t size;
	const struct bus_ops *ops;
} places[] = {
	{X86_PORT_RTC, 2, &x86_rtc_ops},
	{X86_PORT_I8042, 1, &x86_i8042_data_ops},
	{X86_PORT_I8042 + 4, 1, &x86_i8042_command_ops},
	{X86_PORT_RESET, 1, &x86_reset_ops},
	{X86_PORT_SLEEP, 2, &x86_sleep_ops},
	{X86_PORT_EXIT, 1, &x86_exit_ops},
	{X86_PORT_PVPANIC, 1, &x86_pvpanic_ops},
};

#define NR_PLACES (sizeof(places) / sizeof(places[0]))

static struct bus_range range_of(struct x86_platform *p, unsigned int i)
{
	return (struct bus_range) {
		.base = places[i].port,
		.size = places[i].size,
		.ops = places[i].ops,
		.dev = p,
	};
}

static void remove_first(struct x86_platform *p, unsigned int nr)
{
	while (nr--) {
		struct bus_range range = range_of(p, nr);

		bus__remove(&p->vm->pio, &range);
	}
}

int x86_platform__init(struct x86_platform *p, struct vm *vm)
{
	memset(p, 0, sizeof(*p));
	p->vm = vm;
	p->i8042_ctr = X86_I8042_CTR_RESET;
	pthread_mutex_init(&p->lock, NULL);
	for (unsigned int i = 0; i < NR_PLACES; i++) {
		struct bus_range range = range_of(p, i);
		int ret = bus__add(&vm->pio, &range);

		if (ret) {
			remove_first(p, i);
			pthread_mutex_destroy(&p->lock);
			p->vm = NULL;
			return ret;
		}
	}
	return 0;
}

void x86_platform__fini(struct x86_platform *p)
{
	if (!p->vm)
		return;
	remove_first(p, NR_PLACES);
	pthread_mutex_destroy(&p->lock);
	p->vm = NULL;
}
