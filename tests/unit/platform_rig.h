/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_TEST_PLATFORM_RIG_H
#define LKVM_TEST_PLATFORM_RIG_H

/* The platform devices on a port bus, without KVM; include after cmocka.h. */
#include <stdlib.h>

#include <lkvm/x86_platform.h>

struct platform_rig {
	struct vm vm;
	struct x86_platform platform;
};

static inline int platform_rig__setup(void **state)
{
	struct platform_rig *f = calloc(1, sizeof(*f));

	if (!f || bus__init(&f->vm.pio) || run__init(&f->vm.run) ||
	    x86_platform__init(&f->platform, &f->vm))
		return -1;
	*state = f;
	return 0;
}

static inline int platform_rig__teardown(void **state)
{
	struct platform_rig *f = *state;

	x86_platform__fini(&f->platform);
	assert_int_equal(f->vm.pio.nr, 0); /* all of them have left the bus */
	run__fini(&f->vm.run);
	bus__fini(&f->vm.pio);
	free(f);
	return 0;
}

#endif
