// SPDX-License-Identifier: GPL-2.0-only
#include "hostile.h"

int test__hostile(void)
{
	static struct hostile h;

	if (!hostile__open(&h)) {
		print("payload: fewer than two virtio-blk devices\n");
		return EXIT_SKIP;
	}
	if (cmdline__is("only", "edges")) {
		hostile__edges(&h);
		return verdict__summary();
	}
	hostile__requests(&h);
	hostile__ranges(&h);
	hostile__shapes(&h);
	hostile__memory(&h);
	if (hostile__has_tables(&h))
		hostile__tables(&h);
	hostile__split(&h);
	hostile__packed_ring(&h);
	hostile__edges(&h);
	hostile__sharing(&h);
	return verdict__summary();
}
