// SPDX-License-Identifier: GPL-2.0-only
#include <linux/serial_reg.h>

#include "payload.h"

#define FIFO 16

void console__init(void)
{
	outb(COM1 + UART_LCR, UART_LCR_WLEN8);
	outb(COM1 + UART_IER, 0);
	outb(COM1 + UART_FCR, UART_FCR_ENABLE_FIFO);
	outb(COM1 + UART_MCR, UART_MCR_DTR | UART_MCR_RTS);
}

/*
 * An empty transmitter takes a whole FIFO: one look at the status for 16 bytes,
 * and one string instruction for them, which is one exit of the VM.
 */
void console__write(const char *s, size_t n)
{
	while (n) {
		size_t burst = n < FIFO ? n : FIFO;

		while (!(inb(COM1 + UART_LSR) & UART_LSR_THRE))
			cpu__relax();
		n -= burst;
		asm volatile("rep outsb" : "+S"(s), "+c"(burst) : "d"(COM1 + UART_TX) : "memory");
	}
}

struct out {
	char *buf;
	size_t size, len;
};

static void out__char(struct out *out, char c)
{
	if (out->len + 1 < out->size)
		out->buf[out->len] = c;
	out->len++;
}

static void out__number(struct out *out, uint64_t val, unsigned int base, bool minus,
			unsigned int width, char pad)
{
	char digit[24];
	unsigned int n = 0;

	do {
		digit[n++] = "0123456789abcdef"[val % base];
		val /= base;
	} while (val);
	if (minus && pad == '0')
		out__char(out, '-');
	else if (minus)
		digit[n++] = '-';
	for (; width > n; width--)
		out__char(out, pad);
	while (n)
		out__char(out, digit[--n]);
}

static void out__string(struct out *out, const char *s, unsigned int width)
{
	size_t n = strlen(s);

	for (; width > n; width--)
		out__char(out, ' ');
	while (*s)
		out__char(out, *s++);
}

/* Taken as one type: va_list is an array here and cannot be passed on by value. */
struct args {
	va_list ap;
};

static uint64_t args__number(struct args *args, unsigned int longs, bool is_signed)
{
	if (longs)
		return va_arg(args->ap, uint64_t);
	if (is_signed)
		return (int64_t)va_arg(args->ap, int);
	return va_arg(args->ap, unsigned int);
}

/* One conversion, @fmt behind the '%'; where to go on. */
static const char *out__convert(struct out *out, const char *fmt, struct args *args)
{
	unsigned int width = 0, longs = 0;
	char pad = ' ';
	int64_t val;

	if (*fmt == '0')
		pad = *fmt++;
	while (*fmt >= '0' && *fmt <= '9')
		width = width * 10 + (*fmt++ - '0');
	for (; *fmt == 'l' || *fmt == 'z'; fmt++)
		longs++;
	switch (*fmt) {
	case 'c':
		out__char(out, va_arg(args->ap, int));
		break;
	case 's':
		out__string(out, va_arg(args->ap, const char *), width);
		break;
	case 'd':
		val = args__number(args, longs, true);
		out__number(out, val < 0 ? -(uint64_t)val : (uint64_t)val, 10, val < 0, width, pad);
		break;
	case 'u':
		out__number(out, args__number(args, longs, false), 10, false, width, pad);
		break;
	case 'p':
		out__string(out, "0x", 0);
		longs = 1;
		__attribute__((fallthrough));
	case 'x':
		out__number(out, args__number(args, longs, false), 16, false, width, pad);
		break;
	case 0:
		return fmt;
	default:
		out__char(out, *fmt);
	}
	return fmt + 1;
}

int fmt__vsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct out out = {.buf = buf, .size = size};
	struct args args;

	va_copy(args.ap, ap);
	while (*fmt) {
		if (*fmt == '%')
			fmt = out__convert(&out, fmt + 1, &args);
		else
			out__char(&out, *fmt++);
	}
	va_end(args.ap);
	if (size)
		buf[out.len < size ? out.len : size - 1] = 0;
	return out.len;
}

int fmt__snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = fmt__vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

void print(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	fmt__vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	console__write(line, strlen(line));
}
