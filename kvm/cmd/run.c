// SPDX-License-Identifier: GPL-2.0-only
/* lkvm run: options, machine, the main thread's loop, outcome. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lkvm/vcpu.h>

#include "cmd.h"
#include "console.h"
#include "console_watch.h"
#include "loop.h"
#include "machine.h"
#include "outcome.h"
#include "outputs.h"
#include "stream.h"
#include "term.h"

/* A reader that has stalled gets this long to take the last output. */
#define DRAIN_MS 500

struct run_state {
	const struct timeline *tl;
	struct run_options opts;
	struct machine machine;
	struct term term;
	struct loop loop;
	struct console console;
	struct console_watch watch;
	struct console_log log;
	struct outputs outputs;
	struct outcome outcome;
	unsigned int parts_done;
};

void cmd_run__help(FILE *out)
{
	fprintf(out, "Usage: lkvm run [OPTION...] [KERNEL]\n\n"
		     "Boots a guest; the console is on stdin and stdout, Ctrl-A x ends it.\n\n");
	options__help(out);
	fprintf(out, "\nREGEX is a POSIX extended regular expression, matched on each line of the\n"
		     "console's text without terminal escapes.\n"
		     "\nExit status: 0 the guest powered off or rebooted, or every --expect\n"
		     "matched, 1 to 99 chosen by the guest, 110 kernel panic, 111 triple fault,\n"
		     "112 KVM could not go on, 113 --fail-on matched, 114 the guest ended\n"
		     "before --expect matched, 116 the sandbox refused a system call,\n"
		     "124 --timeout ran out, 125 lkvm could not start, 128 + N ended by\n"
		     "signal N (the keyboard counts as 2).\n");
}

/* The machine is up: run the vCPUs until the outcome is known. */
static int serve(struct run_state *s, struct lk_err *err)
{
	struct vm *vm = &s->machine.vm;
	int ret;

	log__defer(&vm->log, true);
	ret = vcpu__start_all(vm);
	if (ret) {
		log__defer(&vm->log, false);
		return lk_err__set(err, ret,
				   "cannot start the vCPU threads: %s; raise the limit on threads "
				   "(ulimit -u, pids cgroup) or give fewer CPUs with -c",
				   strerror(-ret));
	}
	console_watch__start(&s->watch);
	loop__run(&s->loop);
	timeline__mark(&vm->timeline, TIMELINE_END);
	vcpu__stop_all(vm);
	console__drain(&s->console, DRAIN_MS);
	term__restore(&s->term);
	log__defer(&vm->log, false);
	return 0;
}

/* Descriptors run out wherever the last one went: the remedy is the same everywhere. */
static void add_remedy(struct lk_err *err, int ret)
{
	size_t len = strlen(err->msg);

	if (ret == -EMFILE && !strstr(err->msg, "ulimit -n"))
		snprintf(err->msg + len, sizeof(err->msg) - len,
			 "; raise the limit on open files (ulimit -n) or give fewer disks and "
			 "queues=");
}

static int outputs_up(struct run_state *s, struct lk_err *err)
{
	return outputs__open(&s->outputs, &s->opts, err);
}

static void outputs_down(struct run_state *s)
{
	outputs__close(&s->outputs);
}

/* The copy of the console, as well. */
static int log_up(struct run_state *s, struct lk_err *err)
{
	return console_log__open(&s->log, s->opts.log, &s->opts, err);
}

static void log_down(struct run_state *s)
{
	console_log__close(&s->log);
}

/* Opened again before the sandbox is closed. */
static int streams_up(struct run_state *s, struct lk_err *err)
{
	(void)err;
	console__open(&s->console, STDIN_FILENO, STDOUT_FILENO);
	return 0;
}

static void streams_down(struct run_state *s)
{
	console__close(&s->console);
}

static void outputs_ready(void *arg)
{
	console_log__start(arg);
}

static int machine_up(struct run_state *s, struct lk_err *err)
{
	int ret;

	s->machine.ready = outputs_ready;
	s->machine.ready_arg = &s->log;
	s->machine.sandbox.term = &s->term;
	outputs__sandbox(&s->outputs, s->machine.sandbox.file);
	ret = machine__up(&s->machine, &s->opts, s->tl, err);
	if (ret)
		add_remedy(err, ret);
	return ret;
}

static void machine_down(struct run_state *s)
{
	machine__down(&s->machine);
}

static int terminal_up(struct run_state *s, struct lk_err *err)
{
	(void)err;
	term__init(&s->term, STDIN_FILENO);
	return 0;
}

static void terminal_down(struct run_state *s)
{
	term__fini(&s->term);
}

static int loop_up(struct run_state *s, struct lk_err *err)
{
	struct vm *vm = &s->machine.vm;

	return loop__init(&s->loop, &vm->run, &vm->log, &s->term, err);
}

static void loop_down(struct run_state *s)
{
	loop__fini(&s->loop);
}

static int console_up(struct run_state *s, struct lk_err *err)
{
	return console__init(&s->console, &s->loop, &s->machine.uart, err);
}

static void console_down(struct run_state *s)
{
	console__fini(&s->console);
}

static int watch_up(struct run_state *s, struct lk_err *err)
{
	return console_watch__init(&s->watch, &s->opts.watch, &s->loop, &s->console, &s->log, err);
}

static void watch_down(struct run_state *s)
{
	console_watch__fini(&s->watch);
}

/* What a run has around its machine: up in this order, down in the other. */
static const struct part {
	/* One that fails has undone its own share: only earlier parts go down. */
	int (*up)(struct run_state *s, struct lk_err *err);
	void (*down)(struct run_state *s);
} parts[] = {
	{outputs_up, outputs_down}, {log_up, log_down},		  {streams_up, streams_down},
	{machine_up, machine_down}, {terminal_up, terminal_down}, {loop_up, loop_down},
	{console_up, console_down}, {watch_up, watch_down},
};

#define NR_PARTS (sizeof(parts) / sizeof(parts[0]))

static int parts_up(struct run_state *s, struct lk_err *err)
{
	int ret = 0;

	for (s->parts_done = 0; s->parts_done < NR_PARTS; s->parts_done++) {
		ret = parts[s->parts_done].up(s, err);
		if (ret)
			break;
	}
	return ret;
}

static void parts_down(struct run_state *s)
{
	while (s->parts_done > 0)
		parts[--s->parts_done].down(s);
}

/* The VM has ended: the exit status, and all that is to be told of it. */
static int tell(struct run_state *s)
{
	struct vm *vm = &s->machine.vm;

	outcome__find(&s->outcome, &vm->run, &s->watch, sandbox__refused(&s->machine.sandbox));
	outcome__tell(&s->outcome, vm);
	if (s->opts.loglevel >= LOG_LEVEL_DEBUG)
		outcome__timeline(vm);
	outputs__write(&s->outputs, &s->machine, &s->watch, &s->outcome);
	return s->outcome.status;
}

static int run(struct run_state *s)
{
	struct lk_err err = {""};
	int status;

	if (parts_up(s, &err) || serve(s, &err))
		status = cmd__fail(&err);
	else
		status = tell(s);
	parts_down(s);
	return sandbox__refused(&s->machine.sandbox) ? STATUS_SANDBOX : status;
}

/*
 * A descriptor or two for each queue and each CPU can be more than the soft limit of
 * 1024, which is that low for the sake of select(2) alone.
 */
static void raise_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* What ps and top show: the name tells one VM from another. */
static void name_process(const char *name)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "lkvm:%s", name);
	prctl(PR_SET_NAME, comm);
}

int cmd_run(int argc, char **argv, struct timeline *tl)
{
	struct run_state *s = calloc(1, sizeof(*s));
	struct lk_err err = {""};
	int status;

	if (stream__keep_standard()) {
		free(s);
		return STATUS_START; /* and nowhere to say so */
	}
	if (!s) {
		fprintf(stderr, "lkvm: out of memory\n");
		return STATUS_START;
	}
	loop__block_signals();
	raise_open_files();
	if (options__parse(&s->opts, argc, argv, &err)) {
		status = cmd__fail(&err);
	} else if (s->opts.help) {
		cmd_run__help(stdout);
		status = STATUS_OK;
	} else {
		if (s->opts.name)
			name_process(s->opts.name);
		timeline__mark(tl, TIMELINE_OPTIONS);
		s->tl = tl;
		s->outputs.report.argc = argc;
		s->outputs.report.argv = argv;
		status = run(s);
	}
	options__free(&s->opts);
	sandbox__forget(&s->machine.sandbox);
	free(s);
	return status;
}
