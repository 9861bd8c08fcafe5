/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_AML_H
#define LKVM_X86_AML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bounded writer for ACPI tables and AML (ACPI 6.4, chapter 20).  What does
 * not fit is dropped and sets @overflow, which the caller looks at once, at
 * the end.  Internal to x86/.
 */
struct aml {
	uint8_t *buf;
	size_t size;
	size_t len;
	bool overflow;
};

void aml__init(struct aml *aml, void *buf, size_t size);

void aml__bytes(struct aml *aml, const void *data, size_t len);
void aml__u8(struct aml *aml, uint8_t val);
void aml__u16(struct aml *aml, uint16_t val); /* little endian, as all of ACPI */
void aml__u32(struct aml *aml, uint32_t val);
void aml__u64(struct aml *aml, uint64_t val);

/* Name (Seg, ...): the object follows.  @seg: up to four characters, with "\\" before it for the
 * root.
 */
void aml__name(struct aml *aml, const char *seg);
void aml__integer(struct aml *aml, uint64_t val); /* shortest form */
void aml__string(struct aml *aml, const char *str);
void aml__eisaid(struct aml *aml, const char *id); /* "PNP0A08" */
void aml__buffer(struct aml *aml, const void *data, size_t len);

/* Open an object, returning what aml__end() needs for its length. */
size_t aml__scope(struct aml *aml, const char *seg);
size_t aml__device(struct aml *aml, const char *seg);
size_t aml__package(struct aml *aml, uint8_t elements);
void aml__end(struct aml *aml, size_t mark);

/* Resource descriptors (ACPI 6.4, 6.4), written into a template of their own. */
struct aml_res {
	uint8_t bytes[256];
	struct aml aml;
};

enum aml_res_type { /* resource type of address space descriptors, table 6.56 */
	AML_RES_MEM = 0,
	AML_RES_IO = 1,
	AML_RES_BUS = 2,
};

void aml_res__init(struct aml_res *res);
void aml_res__io(struct aml_res *res, uint16_t base, uint8_t len);
void aml_res__irq_edge(struct aml_res *res, uint32_t gsi); /* active high, exclusive */
void aml_res__mem32(struct aml_res *res, uint32_t base, uint32_t len); /* fixed, read and write */
/* Windows that a bridge passes on to its devices. */
void aml_res__window16(struct aml_res *res, enum aml_res_type type, uint16_t first, uint16_t last);
void aml_res__window32(struct aml_res *res, uint32_t first, uint32_t last);
void aml_res__window64(struct aml_res *res, uint64_t first, uint64_t last);
/* Name (_CRS, ResourceTemplate () {...}) */
void aml_res__crs(struct aml_res *res, struct aml *aml);

#endif
