// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains that are no request: too short, without a status, in the wrong order.
 * A string draws each: a number and a letter for a descriptor, h readable from
 * the header on, i writable data, s the status byte.
 */
#include "hostile.h"

#define W VRING_DESC_F_WRITE

struct shape {
	const char *shape;
	uint32_t type;
	struct hostile_want want;
	const char *section;
};

#define IN VIRTIO_BLK_T_IN
#define OUT VIRTIO_BLK_T_OUT
#define FLUSH VIRTIO_BLK_T_FLUSH

static const struct shape shapes[] = {
	/* 2.7.4.2: all readable ones come first */
	{"1s 16h", FLUSH, WANT_RESET, "2.7.4.2"},
	{"512i 16h 1s", IN, WANT_RESET, "2.7.4.2"},
	{"16h 512i 512h 1s", IN, WANT_RESET, "2.7.4.2"},
	{"16h 1s 512h", OUT, WANT_RESET, "2.7.4.2"},
	{"8h 512i 8h 1s", IN, WANT_RESET, "2.7.4.2"},
	{"16h 1s 1h", FLUSH, WANT_RESET, "2.7.4.2"},
	/* no header, or a part of it */
	{"1s", IN, WANT_IOERR, "5.2.6"},
	{"1h 1s", IN, WANT_IOERR, "5.2.6"},
	{"8h 1s", FLUSH, WANT_IOERR, "5.2.6"},
	{"15h 1s", FLUSH, WANT_IOERR, "5.2.6"},
	{"15h 512i 1s", IN, WANT_IOERR, "5.2.6"},
	{"7h 8h 512i 1s", IN, WANT_IOERR, "5.2.6"},
	{"512i 1s", IN, WANT_IOERR, "5.2.6"},
	{"0h 512i 1s", IN, WANT_IOERR, "5.2.6"},
	{"0h 0i 1s", IN, WANT_IOERR, "5.2.6"},
	/* no status */
	{"16h", FLUSH, WANT_RETURNED, "5.2.6"},
	{"16h", IN, WANT_RETURNED, "5.2.6"},
	{"1h", IN, WANT_RETURNED, "5.2.6"},
	{"15h", IN, WANT_RETURNED, "5.2.6"},
	{"8h 8h", FLUSH, WANT_RETURNED, "5.2.6"},
	{"16h 512h", OUT, WANT_RETURNED, "5.2.6"},
	{"16h 513h", OUT, WANT_RETURNED, "5.2.6"},
	{"16h 0i", FLUSH, WANT_RETURNED, "5.2.6"},
	{"0h", FLUSH, WANT_RETURNED, "5.2.6"},
	{"0i", FLUSH, WANT_RETURNED, "5.2.6"},
	{"0h 0i 0h 0i", FLUSH, WANT_RETURNED, "5.2.6"},
	/* split in odd places, and right (2.7.4.1) */
	{"8h 8h 1s", FLUSH, WANT_OK(1), "2.7.4.1"},
	{"1h 15h 512i 1s", IN, WANT_OK(513), "2.7.4.1"},
	{"15h 1h 1i 511i 1s", IN, WANT_OK(513), "2.7.4.1"},
	{"16h 0i 512i 0i 1s", IN, WANT_OK(513), "2.7.4.1"},
	{"4h 4h 4h 4h 256i 256i 1s", IN, WANT_OK(513), "2.7.4.1"},
	/* data that is a sector but for the status byte cut from it */
	{"15h 1h 511i 1s", IN, WANT_IOERR, "5.2.6"},
	{"16h 511i 1i 1i 1s", IN, WANT_IOERR, "5.2.6"},
};

static void draw(struct hostile *h, const char *p)
{
	uint32_t out = 0, in = 0;

	while (*p) {
		uint32_t len = 0;

		while (*p >= '0' && *p <= '9')
			len = len * 10 + *p++ - '0';
		if (*p == 'h') {
			hostile__seg(h, (uintptr_t)h->out + out, len, 0);
			out += len;
		} else if (*p == 'i') {
			hostile__seg(h, (uintptr_t)h->in + in, len, W);
			in += len;
		} else {
			hostile__status(h);
		}
		p++;
		while (*p == ' ')
			p++;
	}
}

void hostile__shapes(struct hostile *h)
{
	unsigned int i;

	for (h->indirect = false;; h->indirect = true) {
		for (i = 0; i < ARRAY_SIZE(shapes); i++) {
			char name[80];

			hostile__begin(h, shapes[i].type, 8);
			draw(h, shapes[i].shape);
			fmt__snprintf(name, sizeof(name), "chain of %s, type %u", shapes[i].shape,
				      shapes[i].type);
			hostile__run(h, "shapes", name, shapes[i].section, &shapes[i].want);
		}
		if (h->indirect || !hostile__has_tables(h))
			break;
	}
	h->indirect = false;
}
