// SPDX-License-Identifier: GPL-2.0-only
/* Resource descriptors (ACPI 6.4, 6.4.2 small, 6.4.3 large). */
#include "aml.h"

enum {
	RES_IO = 0x47, /* small, 7 bytes */
	RES_END_TAG = 0x79,
	RES_MEM32_FIXED = 0x86,
	RES_DWORD = 0x87,
	RES_WORD = 0x88,
	RES_IRQ = 0x89,
	RES_QWORD = 0x8a,
};

#define DECODE16 0x01
#define READ_WRITE 0x01
#define IRQ_CONSUMER 0x01
#define IRQ_EDGE 0x02
/* General flags of a window: producer, positive decode, first and last are fixed. */
#define WINDOW_FIXED 0x0c
#define IO_ENTIRE_RANGE 0x03

void aml_res__init(struct aml_res *res)
{
	aml__init(&res->aml, res->bytes, sizeof(res->bytes));
}

void aml_res__io(struct aml_res *res, uint16_t base, uint8_t len)
{
	aml__u8(&res->aml, RES_IO);
	aml__u8(&res->aml, DECODE16);
	aml__u16(&res->aml, base); /* lowest and highest base: fixed */
	aml__u16(&res->aml, base);
	aml__u8(&res->aml, 1); /* alignment */
	aml__u8(&res->aml, len);
}

void aml_res__irq_edge(struct aml_res *res, uint32_t gsi)
{
	aml__u8(&res->aml, RES_IRQ);
	aml__u16(&res->aml, 6);
	aml__u8(&res->aml, IRQ_CONSUMER | IRQ_EDGE);
	aml__u8(&res->aml, 1);
	aml__u32(&res->aml, gsi);
}

void aml_res__mem32(struct aml_res *res, uint32_t base, uint32_t len)
{
	aml__u8(&res->aml, RES_MEM32_FIXED);
	aml__u16(&res->aml, 9);
	aml__u8(&res->aml, READ_WRITE);
	aml__u32(&res->aml, base);
	aml__u32(&res->aml, len);
}

static uint8_t type_flags(enum aml_res_type type)
{
	switch (type) {
	case AML_RES_MEM:
		return READ_WRITE; /* not cacheable, not prefetchable */
	case AML_RES_IO:
		return IO_ENTIRE_RANGE;
	default:
		return 0;
	}
}

static void window_header(struct aml *aml, uint8_t tag, uint16_t len, enum aml_res_type type)
{
	aml__u8(aml, tag);
	aml__u16(aml, len);
	aml__u8(aml, type);
	aml__u8(aml, WINDOW_FIXED);
	aml__u8(aml, type_flags(type));
}

void aml_res__window16(struct aml_res *res, enum aml_res_type type, uint16_t first, uint16_t last)
{
	window_header(&res->aml, RES_WORD, 13, type);
	aml__u16(&res->aml, 0); /* granularity */
	aml__u16(&res->aml, first);
	aml__u16(&res->aml, last);
	aml__u16(&res->aml, 0); /* translation */
	aml__u16(&res->aml, last - first + 1);
}

void aml_res__window32(struct aml_res *res, uint32_t first, uint32_t last)
{
	window_header(&res->aml, RES_DWORD, 23, AML_RES_MEM);
	aml__u32(&res->aml, 0);
	aml__u32(&res->aml, first);
	aml__u32(&res->aml, last);
	aml__u32(&res->aml, 0);
	aml__u32(&res->aml, last - first + 1);
}

void aml_res__window64(struct aml_res *res, uint64_t first, uint64_t last)
{
	window_header(&res->aml, RES_QWORD, 43, AML_RES_MEM);
	aml__u64(&res->aml, 0);
	aml__u64(&res->aml, first);
	aml__u64(&res->aml, last);
	aml__u64(&res->aml, 0);
	aml__u64(&res->aml, last - first + 1);
}

void aml_res__crs(struct aml_res *res, struct aml *aml)
{
	aml__u8(&res->aml, RES_END_TAG);
	aml__u8(&res->aml, 0); /* no checksum: zero counts as right (6.4.2.9) */
	aml__name(aml, "_CRS");
	aml__buffer(aml, res->bytes, res->aml.len);
	if (res->aml.overflow)
		aml->overflow = true;
}
