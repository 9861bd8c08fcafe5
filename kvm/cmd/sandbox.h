/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_SANDBOX_H
#define LKVM_CMD_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/err.h>
#include <lkvm/log.h>
#include <lkvm/thread.h>

#include "options.h"
#include "term.h"

struct sock_filter;

/* Builds with a sanitizer: it has system calls and files of its own. */
#ifdef __has_feature /* clang; gcc has macros instead */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_INSTRUMENTED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_INSTRUMENTED
#endif

/*
 * What a guest that has taken over a thread of lkvm can still do.  README.md has
 * the threat model.  From sandbox__up() on, for the main thread and all that are
 * started later: no new privileges, no capabilities, no path that can be opened
 * but the directory of --stats (Landlock).  Each thread then loads the filter of
 * its kind (seccomp) when vm->threads is told of it, the main thread as the last
 * one before the guest runs.
 *
 *	sandbox.c           this: the list of steps, and what the host lacks
 *	sandbox_calls.c     which system calls each kind of thread needs, as a table
 *	sandbox_filter.c    a filter from that, through libseccomp
 *	sandbox_landlock.c  files, sockets and signals
 *	sandbox_rights.c    capabilities, descriptors
 *	sandbox_trap.c      what happens when a call is refused
 */

/* What the options of this VM make necessary; bits of a mask. */
enum sandbox_need {
	SANDBOX_NEED_IMAGE = 1 << 0, /* a disk that is not null: worker pools */
	SANDBOX_NEED_AIO = 1 << 1,
	SANDBOX_NEED_URING = 1 << 2,
	SANDBOX_NEED_FILE = 1 << 3, /* --stats or the like makes a file at the end */
};

struct sandbox_filter {
	struct sock_filter *code; /* NULL: none is loaded */
	unsigned int len;
};

/* The first system call that was refused. */
struct sandbox_refusal {
	atomic_int state; /* 0: none, 1: being written, 2: all of it is there */
	atomic_uint count;
	int nr;
	uint64_t arg;
	char thread[16];
};

#define SANDBOX_FILES 3

struct sandbox {
	struct thread_hook hook;
	/* The caller's, constant until sandbox__down(). */
	enum sandbox_mode mode;
	struct term *term; /* put back where the process has to end at once */
	const char
		*file[SANDBOX_FILES]; /* made or replaced at the end (--stats, ...); NULL: none */
	unsigned int needs; /* enum sandbox_need */
	int endfd; /* an eventfd that ends the main thread's loop */

	struct sandbox_filter filter[THREAD_KINDS];
	struct sandbox_refusal refusal;
	int abi; /* of Landlock; 0: none */
	bool told; /* of the refusal */
};

/*
 * Confine this thread and those that it is going to start, and get the filters
 * ready.  All files are open, no other thread exists.  What the host lacks is a
 * warning, with SANDBOX_REQUIRE an error; with SANDBOX_OFF nothing is done.  Main
 * thread.  0 or -errno with one line in @err; what was given up stays so.
 */
int sandbox__up(struct sandbox *sb, struct log *log, struct lk_err *err);
/* Frees the filters; those that are loaded stay, and so does the watch for refused calls. */
void sandbox__down(struct sandbox *sb);
/* @sb is not going to be there any more.  Refused calls end the process from here on. */
void sandbox__forget(struct sandbox *sb);

/*
 * Was a system call refused?  The first time one line on stderr says which, in
 * which thread.  Main thread.
 */
bool sandbox__refused(struct sandbox *sb);

/* ---- among the files above ---- */

/* Whole filters of all kinds.  0, or -errno where libseccomp fails or is not built in. */
int sandbox_filter__build(struct sandbox *sb);
void sandbox_filter__free(struct sandbox *sb);
/* Does this host take filters?  NULL, or what is missing. */
const char *sandbox_filter__missing(void);
/* This thread, from now on.  0 or -errno. */
int sandbox_filter__load(const struct sandbox *sb, enum thread_kind kind);
/* "socket", or NULL. */
char *sandbox_filter__name(int nr);

/* The version of the interface; 0: not there. */
int sandbox_landlock__abi(void);
/*
 * Only @file, SANDBOX_FILES of them, can be made or replaced from now on; NULL: nothing.
 * 0, or -errno with *@bad the file that it is about, or NULL.
 */
int sandbox_landlock__confine(int abi, const char *const *file, const char **bad);

/* No execve gives rights back; all descriptors are closed by it.  0 or -errno. */
int sandbox_rights__fix(void);
/* All capabilities, but first what one of them was good for.  0 or -errno. */
int sandbox_rights__drop(void);

/* Watch for refused calls. */
void sandbox_trap__set(struct sandbox *sb);
/* This thread cannot be confined: say so and end the process. */
_Noreturn void sandbox_trap__give_up(const struct sandbox *sb, int code);

struct sandbox_arg {
	unsigned int nr; /* 0 to 5 */
	uint64_t mask, value; /* (argument & mask) == value */
};

struct sandbox_call {
	int nr;
	unsigned int kinds; /* 1 << enum thread_kind */
	unsigned int needs; /* one of these has to be there; 0: always */
	unsigned int nr_args; /* all of them have to be right; a call can be in the table often */
	struct sandbox_arg arg[2];
	bool own; /* arg[0] is compared with the id of this process */
};

extern const struct sandbox_call sandbox_calls[];
extern const unsigned int sandbox_nr_calls;

#endif
