/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_TEST_RECORDER_H
#define LKVM_TEST_RECORDER_H

/* A bus device that keeps what it is told, for unit tests. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>

#include <lkvm/bus.h>

#define PORT 0x3f8
#define MMIO 0xa0000

/* A device that keeps what is written and answers 0x51, 0x52, ... */
struct recorder {
	char text[64];
	unsigned int len, accesses, last_len;
	uint64_t last_off;
	uint8_t next;
	int fd; /* told once 2 bytes and more are written */
	char thread[16];
	sigset_t mask;
};

static void rec_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct recorder *r = dev;

	r->last_off = off;
	r->last_len = len;
	r->accesses++;
	memset(data, ++r->next, len);
}

static void rec_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct recorder *r = dev;

	r->last_off = off;
	r->last_len = len;
	r->accesses++;
	if (r->len + len < sizeof(r->text)) {
		memcpy(r->text + r->len, data, len);
		r->len += len;
	}
	pthread_getname_np(pthread_self(), r->thread, sizeof(r->thread));
	pthread_sigmask(SIG_SETMASK, NULL, &r->mask);
	if (r->fd >= 0 && r->len >= 2)
		eventfd_write(r->fd, 1);
}

static const struct bus_ops rec_ops = {.read = rec_read, .write = rec_write};

#endif
