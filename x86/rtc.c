// SPDX-License-Identifier: GPL-2.0-only
/*
 * MC146818 real-time clock and its CMOS memory (data sheet of the part; the
 * century byte where PC firmware keeps it).  BCD and 24 hours, UTC, and the
 * host's time: the guest cannot set it.  No interrupts.
 */
#include <lkvm/timeline.h>
#include <lkvm/x86_platform.h>

enum {
	RTC_SECONDS = 0x00,
	RTC_MINUTES = 0x02,
	RTC_HOURS = 0x04,
	RTC_WEEKDAY = 0x06,
	RTC_DAY = 0x07,
	RTC_MONTH = 0x08,
	RTC_YEAR = 0x09,
	RTC_REG_A = 0x0a,
	RTC_REG_B = 0x0b,
	RTC_REG_C = 0x0c,
	RTC_REG_D = 0x0d,
	RTC_CENTURY = 0x32,
};

#define RTC_A_32KHZ 0x26 /* time base and rate; update in progress (0x80) is never set */
#define RTC_B_WRITABLE 0xf8 /* SET, interrupt enables, square wave */
#define RTC_B_24H 0x02 /* and binary mode (0x04) off */
#define RTC_D_VALID 0x80

/* A guest that reads field after field sees one moment, if it takes no longer than this. */
#define RTC_KEEP_NS 100000000ULL

static uint8_t bcd(unsigned int val)
{
	return (val / 10 % 10) << 4 | val % 10;
}

/*
 * The moment is taken anew with the seconds, which a driver reads first, and
 * with register A, which it looks at before that.
 */
static void take_time(struct x86_platform *p, uint8_t reg)
{
	uint64_t now = timeline__now();

	if (p->rtc_taken && reg != RTC_SECONDS && reg != RTC_REG_A &&
	    now - p->rtc_taken < RTC_KEEP_NS)
		return;
	p->rtc_taken = now;
	p->rtc_time = time(NULL);
}

static uint8_t read_time(struct x86_platform *p, uint8_t reg)
{
	struct tm tm;

	take_time(p, reg);
	if (!gmtime_r(&p->rtc_time, &tm))
		return 0;
	switch (reg) {
	case RTC_SECONDS:
		return bcd(tm.tm_sec);
	case RTC_MINUTES:
		return bcd(tm.tm_min);
	case RTC_HOURS:
		return bcd(tm.tm_hour);
	case RTC_WEEKDAY:
		return tm.tm_wday + 1; /* Sunday is 1 */
	case RTC_DAY:
		return bcd(tm.tm_mday);
	case RTC_MONTH:
		return bcd(tm.tm_mon + 1);
	case RTC_YEAR:
		return bcd(tm.tm_year % 100);
	default:
		return bcd((tm.tm_year + 1900) / 100);
	}
}

static bool is_time(uint8_t reg)
{
	switch (reg) {
	case RTC_SECONDS:
	case RTC_MINUTES:
	case RTC_HOURS:
	case RTC_WEEKDAY:
	case RTC_DAY:
	case RTC_MONTH:
	case RTC_YEAR:
	case RTC_CENTURY:
		return true;
	default:
		return false;
	}
}

static uint8_t read_data(struct x86_platform *p)
{
	uint8_t reg = p->rtc_index;

	if (is_time(reg))
		return read_time(p, reg);
	switch (reg) {
	case RTC_REG_A:
		take_time(p, reg);
		return RTC_A_32KHZ;
	case RTC_REG_B:
		return p->rtc_ram[reg] | RTC_B_24H;
	case RTC_REG_C:
		return 0;
	case RTC_REG_D:
		return RTC_D_VALID;
	default:
		return p->rtc_ram[reg];
	}
}

static void write_data(struct x86_platform *p, uint8_t val)
{
	uint8_t reg = p->rtc_index;

	if (is_time(reg))
		return;
	if (reg == RTC_REG_B)
		val &= RTC_B_WRITABLE;
	p->rtc_ram[reg] = val; /* A, C and D keep it too but never show it */
}

static void rtc_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct x86_platform *p = dev;
	uint8_t *bytes = data;

	pthread_mutex_lock(&p->lock);
	for (unsigned int i = 0; i < len; i++) /* the index port is write only */
		bytes[i] = off + i ? read_data(p) : 0xff;
	pthread_mutex_unlock(&p->lock);
}

static void rtc_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct x86_platform *p = dev;
	const uint8_t *bytes = data;

	pthread_mutex_lock(&p->lock);
	for (unsigned int i = 0; i < len; i++) {
		if (off + i)
			write_data(p, bytes[i]);
		else
			p->rtc_index = bytes[i] & 0x7f; /* bit 7 masks the NMI */
	}
	pthread_mutex_unlock(&p->lock);
}

const struct bus_ops x86_rtc_ops = {
	.read = rtc_read,
	.write = rtc_write,
};
