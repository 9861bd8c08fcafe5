/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A guest without an operating system: everything from payload__start() on
 * runs at level 3, identity mapped, with port I/O.  One test a boot, chosen by
 * `test=NAME` on the kernel command line; its result is the exit status.
 */

/* Port and MMIO accesses of exactly the stated width. */
static inline void outb(uint16_t port, uint8_t val)
{
	asm volatile("outb %0, %1" : : "a"(val), "Nd"(port));
}

static inline void outw(uint16_t port, uint16_t val)
{
	asm volatile("outw %0, %1" : : "a"(val), "Nd"(port));
}

static inline void outl(uint16_t port, uint32_t val)
{
	asm volatile("outl %0, %1" : : "a"(val), "Nd"(port));
}

static inline uint8_t inb(uint16_t port)
{
	uint8_t val;

	asm volatile("inb %1, %0" : "=a"(val) : "Nd"(port));
	return val;
}

static inline uint16_t inw(uint16_t port)
{
	uint16_t val;

	asm volatile("inw %1, %0" : "=a"(val) : "Nd"(port));
	return val;
}

static inline uint32_t inl(uint16_t port)
{
	uint32_t val;

	asm volatile("inl %1, %0" : "=a"(val) : "Nd"(port));
	return val;
}

/* Plain moves alone: what a hypervisor has to decode for MMIO stays simple. */
#define MMIO_ACCESSORS(bits, suffix, reg)                                                     \
	static inline uint##bits##_t mmio__read##bits(uint64_t addr)                          \
	{                                                                                     \
		uint##bits##_t val;                                                           \
		asm volatile("mov" suffix " (%1), %0" : "=" reg(val) : "r"(addr) : "memory"); \
		return val;                                                                   \
	}                                                                                     \
	static inline void mmio__write##bits(uint64_t addr, uint##bits##_t val)               \
	{                                                                                     \
		asm volatile("mov" suffix " %0, (%1)" : : reg(val), "r"(addr) : "memory");    \
	}
MMIO_ACCESSORS(8, "b", "q")
MMIO_ACCESSORS(16, "w", "r")
MMIO_ACCESSORS(32, "l", "r")
MMIO_ACCESSORS(64, "q", "r")

static inline void cpu__relax(void)
{
	asm volatile("pause" : : : "memory");
}

/* Order between ring memory writes and reads (store, then load). */
static inline void mb(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void rmb(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static inline void wmb(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE_SIZE 4096UL

/* string.c: what the compiler may call, and no more. */
void *memset(void *dst, int c, size_t n);
void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

#define COM1 0x3f8

/*
 * console.c: 16550 at 0x3f8, polled.  Formats: %c %s %d %u %x %p, the lengths
 * l and ll, a width, and 0 to pad with zeroes.
 */
void console__init(void);
void console__write(const char *s, size_t n);
int fmt__vsnprintf(char *buf, size_t size, const char *fmt, va_list ap);
__attribute__((format(printf, 3, 4))) int fmt__snprintf(char *buf, size_t size, const char *fmt,
							...);
__attribute__((format(printf, 1, 2))) void print(const char *fmt, ...);

/*
 * report.c: one line a check (`ok` or `not ok`, then the text); returns
 * @ok.  The summary `payload: N passed, N failed` gives the exit status: 0, or
 * the number of failures up to 98.
 */
#define EXIT_PANIC 99 /* unexpected exception, or a payload that cannot go on */
#define EXIT_SKIP 77 /* nothing to test here (no such device) */
__attribute__((format(printf, 2, 3))) bool report(bool ok, const char *fmt, ...);
void report__count(bool ok); /* a check whose line is printed already */
int report__summary(void);
__attribute__((format(printf, 1, 2), noreturn)) void panic(const char *fmt, ...);

/* power.c: ways to end the VM. */
__attribute__((noreturn)) void power__exit(uint8_t status); /* exit port, else ACPI, else reset */
void power__acpi_off(void);
void power__i8042_reset(void);
void power__cf9_reset(void);

/* boot.c: what the loader told us. */
#define BOOT_MAX_RAM 32
struct boot_info {
	const char *cmdline;
	struct {
		uint64_t base, size;
	} ram[BOOT_MAX_RAM];
	unsigned int nr_ram;
	uint64_t rsdp; /* guest physical, 0: not told */
	uint64_t heap, heap_end; /* mem__alloc() */
};
void boot__init(uint64_t boot_params, uint32_t pvh_info);
extern struct boot_info boot_info; /* constant after boot__init(), but heap */

/* key=value words of the command line; the last one counts.  False: not there. */
bool cmdline__get(const char *key, char *buf, size_t size);
bool cmdline__bool(const char *key, bool otherwise); /* on or off */
bool cmdline__is(const char *key, const char *value);
uint64_t cmdline__num(const char *key, uint64_t otherwise); /* decimal or 0x; K, M, G */

/* Zeroed memory, never given back; panics when there is none left.  @align: a power of two. */
void *mem__alloc(size_t size, size_t align);

/* paging.c: make [addr, addr + size) usable (identity map, 2 MiB pages). */
void paging__map(uint64_t addr, uint64_t size, bool device);

/* time.c */
static inline uint64_t time__tsc(void)
{
	uint32_t lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}
uint64_t time__tsc_hz(void); /* found out at the first call */
uint64_t time__ns(uint64_t ticks);
/*
 * For what has to happen.  Only a hang gets there: the host's CPUs and storage
 * can be busy with others for seconds.
 */
#define HANG_MS 30000U
uint64_t time__deadline(uint64_t ms); /* TSC value that many milliseconds from now */
void time__delay_us(uint64_t us);

/* The tests: each returns its exit status. */
int test__hello(void);
int test__poweroff(void);
int test__reset(void);
int test__cf9(void);
int test__triple(void);
int test__spin(void);
int test__hlt(void);
int test__lines(void);
int test__crash(void);
int test__exception(void);
int test__ram(void);
int test__ids(void);
int test__pci(void);
int test__bar(void);
int test__cpus(void);
int test__irq(void);
int test__queue(void);
int test__state(void);
int test__blk(void);
int test__durable(void);
int test__reinit(void);
int test__some(void);
int test__wedge(void);
int test__panic(void);
int test__dialogue(void);
int test__endless(void);
int test__bench(void);
int test__layout(void);
int test__align(void);
int test__readonly(void);
int test__notify(void);
int test__hostile(void);
int test__hreg(void);
int test__hreset(void);

#endif
