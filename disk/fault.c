/* SPDX-License-Identifier: GPL-2.0-only */
/* See fault.h.  Nothing here has to be fast. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

enum fault_kind {
	FAULT_NONE,
	FAULT_ERROR,
	FAULT_SHORT,
	FAULT_EAGAIN,
};

struct rule {
	enum fault_kind kind;
	int error; /* FAULT_ERROR */
	unsigned long at, of; /* the at-th of each of; of 0: of each batch */
};

struct disk_fault {
	struct rule rule[DISK_FAULT_RULES];
	unsigned int nr;
};

/* A request that the engine has only the beginning of. */
struct cut {
	struct disk_req *req;
	uint64_t len;
	unsigned int nr_iov;
	struct iovec rest; /* of the last buffer that the beginning has a part of */
	struct cut *next;
};

struct disk_fault_queue {
	const struct disk_engine_ops *inner;
	struct cut *cuts;
	struct disk_req *held, **held_tail; /* FAULT_EAGAIN */
	unsigned int inside; /* requests that the engine has */
	unsigned long count; /* requests so far */
	unsigned long in_batch;
};

/* ---- the rules ---- */

static const struct {
	const char *name;
	enum fault_kind kind;
	int error;
} kinds[] = {
	{"eio", FAULT_ERROR, -EIO},
	{"enospc", FAULT_ERROR, -ENOSPC},
	{"short", FAULT_SHORT, 0},
	{"eagain", FAULT_EAGAIN, 0},
};

static bool number(const char **text, unsigned long *n)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*n = strtoul(*text, &end, 10);
	*text = end;
	return *n && !errno;
}

static bool parse_which(const char **text, struct rule *rule)
{
	if (**text == '@') {
		++*text;
		rule->of = 0;
		return number(text, &rule->at);
	}
	if (!number(text, &rule->at))
		return false;
	rule->of = rule->at;
	if (**text != '/')
		return true;
	++*text;
	return number(text, &rule->of) && rule->at <= rule->of;
}

static bool parse_rule(const char **text, struct rule *rule)
{
	size_t len = strcspn(*text, ":");
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strlen(kinds[i].name) != len || memcmp(kinds[i].name, *text, len))
			continue;
		rule->kind = kinds[i].kind;
		rule->error = kinds[i].error;
		*text += len;
		if (**text != ':')
			return false;
		++*text;
		return parse_which(text, rule);
	}
	return false;
}

static bool parse(struct disk_fault *fault, const char *text)
{
	while (fault->nr < DISK_FAULT_RULES) {
		if (!parse_rule(&text, &fault->rule[fault->nr++]))
			return false;
		if (!*text)
			return true;
		if (*text++ != '+')
			return false;
	}
	return false;
}

int disk_fault__parse(struct disk *disk, const char *faults, struct lk_err *err)
{
	struct disk_fault *fault = calloc(1, sizeof(*fault));

	if (!fault)
		return lk_err__set(err, -ENOMEM, "disk '%s': out of memory", disk->path);
	if (!parse(fault, faults)) {
		free(fault);
		return lk_err__set(err, -EINVAL,
				   "disk '%s': fault=%s: write eio, enospc, short or eagain, a "
				   "colon, and N, P/N or @P, such as eio:3; at most %d of them "
				   "with + between",
				   disk->path, faults, DISK_FAULT_RULES);
	}
	disk->fault = fault;
	return 0;
}

void disk_fault__free(struct disk *disk)
{
	free(disk->fault);
	disk->fault = NULL;
}

/* Count one request, and say what is to happen to it. */
static const struct rule *next_fault(struct disk_queue *q)
{
	static const struct rule none = {.kind = FAULT_NONE};
	const struct disk_fault *fault = q->disk->fault;
	struct disk_fault_queue *f = q->fault;
	unsigned int i;

	f->count++;
	f->in_batch++;
	for (i = 0; i < fault->nr; i++) {
		const struct rule *r = &fault->rule[i];

		if (r->of ? f->count % r->of == r->at % r->of : f->in_batch == r->at)
			return r;
	}
	return &none;
}

/* ---- what happens ---- */

static void to_engine(struct disk_queue *q, struct disk_req *req)
{
	q->fault->inside++;
	q->fault->inner->queue(q, req);
}

/* Make the request shorter, and remember what it was. */
static void cut(struct disk_queue *q, struct disk_req *req)
{
	uint64_t len = req->len / 2, part;
	struct cut *c = NULL;
	unsigned int i;

	len -= len % q->disk->geo.logical_block;
	if (len && (req->op == DISK_READ || req->op == DISK_WRITE))
		c = malloc(sizeof(*c));
	if (!c)
		return;
	*c = (struct cut) {
		.req = req, .len = req->len, .nr_iov = req->nr_iov, .next = q->fault->cuts};
	q->fault->cuts = c;
	part = len;
	for (i = 0; part > req->iov[i].iov_len; i++)
		part -= req->iov[i].iov_len;
	c->rest = (struct iovec) {(char *)req->iov[i].iov_base + part, req->iov[i].iov_len - part};
	req->iov[i].iov_len = part;
	req->nr_iov = i + 1;
	req->len = len;
}

/* Is there a rest?  Then the request is for that now; if not for an error. */
static bool uncut(struct disk_queue *q, struct disk_req *req)
{
	struct cut **p, *c;

	for (p = &q->fault->cuts; *p && (*p)->req != req; p = &(*p)->next)
		;
	c = *p;
	if (!c)
		return false;
	*p = c->next;
	req->done = req->len; /* the engine without storage does not count */
	req->iov[req->nr_iov - 1] = c->rest;
	req->nr_iov = c->nr_iov;
	req->len = c->len;
	free(c);
	return req->res == 0;
}

static void hold(struct disk_fault_queue *f, struct disk_req *req)
{
	req->next = NULL;
	*f->held_tail = req;
	f->held_tail = &req->next;
}

static void release(struct disk_queue *q)
{
	struct disk_fault_queue *f = q->fault;
	struct disk_req *req = f->held, *next;

	f->held = NULL;
	f->held_tail = &f->held;
	for (; req; req = next) {
		next = req->next;
		req->next = NULL;
		to_engine(q, req);
	}
}

/* ---- the layer ---- */

static void fault__queue(struct disk_queue *q, struct disk_req *req)
{
	const struct rule *r = next_fault(q);

	switch (r->kind) {
	case FAULT_ERROR:
		q->fault->inside++;
		disk_queue__finish(q, req, r->error);
		return;
	case FAULT_EAGAIN:
		hold(q->fault, req);
		return;
	case FAULT_SHORT:
		cut(q, req);
		break;
	case FAULT_NONE:
		break;
	}
	to_engine(q, req);
}

static void fault__submit(struct disk_queue *q)
{
	q->fault->in_batch = 0;
	q->fault->inner->submit(q);
}

/* Also what the queue finished without an engine comes out here: it is not counted inside. */
static struct disk_req *fault__reap(struct disk_queue *q)
{
	struct disk_fault_queue *f = q->fault;
	struct disk_req *req;

	if (f->held && !f->inside) {
		release(q);
		f->inner->submit(q);
	}
	while ((req = f->inner->reap(q))) {
		bool rest = uncut(q, req);

		f->inside -= f->inside > 0;
		if (f->held)
			release(q);
		if (rest) {
			q->stats.shorts++;
			to_engine(q, req);
		}
		f->inner->submit(q);
		if (!rest)
			return req;
	}
	return NULL;
}

static bool fault__ready(const struct disk_queue *q)
{
	const struct disk_fault_queue *f = q->fault;

	return (f->held && !f->inside) || (f->inner->ready && f->inner->ready(q));
}

static void fault__attach(struct disk_queue *q)
{
	if (q->fault->inner->attach)
		q->fault->inner->attach(q);
}

static uint64_t fault__wait(struct disk_queue *q, int64_t timeout)
{
	return q->fault->inner->wait ? q->fault->inner->wait(q, timeout)
				     : disk_queue__sleep(q, timeout);
}

static uint64_t fault__rest(struct disk_queue *q)
{
	return q->fault->inner->rest ? q->fault->inner->rest(q) : 0;
}

static void fault__fini(struct disk_queue *q)
{
	q->fault->inner->fini(q);
	free(q->fault);
	q->fault = NULL;
}

static const struct disk_engine_ops fault_ops = {
	.name = "fault",
	.fini = fault__fini,
	.queue = fault__queue,
	.submit = fault__submit,
	.reap = fault__reap,
	.attach = fault__attach,
	.ready = fault__ready,
	.wait = fault__wait,
	.rest = fault__rest,
};

int disk_fault__wrap(struct disk_queue *q)
{
	struct disk_fault_queue *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->inner = q->engine;
	f->held_tail = &f->held;
	q->fault = f;
	q->engine = &fault_ops;
	return 0;
}
