// SPDX-License-Identifier: GPL-2.0-only
/*
 * The main thread's event loop.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <lkvm/timeline.h>

#include "loop.h"

#define FOREGROUND_NS 250000000ULL

#define container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Those that would end or stop the process with the terminal still raw, and SIGCONT. */
static const int signals[] = {
	SIGINT,	 SIGTERM, SIGHUP,    SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
	SIGXCPU, SIGPROF, SIGVTALRM, SIGIO,   SIGPWR,  SIGTSTP, SIGCONT,
};

/*
 * Who starts us can have a signal ignored (nohup, a script's background jobs),
 * and that is kept.  A signalfd would get it all the same: the kernel discards
 * an ignored signal only where it is not blocked.
 */
static bool ignored(int sig)
{
	struct sigaction act;

	return sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN;
}

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i] == SIGCONT || !ignored(signals[i]))
			sigaddset(set, signals[i]);
}

void loop__block_signals(void)
{
	sigset_t set;

	signal_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* both come as an error of the write instead: EPIPE, EFBIG (RLIMIT_FSIZE) */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* Take the terminal, or watch for the moment when we may. */
static void take_terminal(struct loop *loop)
{
	if (term__raw(loop->term) == -EAGAIN)
		loop->foreground.at = timeline__now() + FOREGROUND_NS;
	if (loop->terminal_changed)
		loop->terminal_changed(loop->terminal_arg);
}

static void look_for_foreground(struct loop_timer *timer)
{
	struct loop *loop = container(timer, struct loop, foreground);

	if (term__background(loop->term))
		timer->at = timeline__now() + FOREGROUND_NS;
	else
		take_terminal(loop);
}

/*
 * SIGTSTP itself would do nothing in an orphaned process group (no shell that
 * could continue us is the kernel's guess); who sends it wants a stop.
 */
static void stop_self(struct loop *loop)
{
	term__restore(loop->term);
	kill(getpid(), SIGSTOP);
	/* continued: SIGCONT is in the signalfd and takes the terminal again */
}

static void on_signal(struct loop *loop, int sig)
{
	switch (sig) {
	case SIGTSTP:
		stop_self(loop);
		break;
	case SIGCONT:
		take_terminal(loop);
		break;
	default:
		run__end(loop->run, RUN_END_SIGNAL, sig, -1);
		break;
	}
}

static void signals_ready(struct loop_source *source, uint32_t events)
{
	struct loop *loop = container(source, struct loop, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) == sizeof(info))
		on_signal(loop, info.ssi_signo);
}

static void end_ready(struct loop_source *source, uint32_t events)
{
	(void)events;
	container(source, struct loop, end)->over = true;
}

static void messages_ready(struct loop_source *source, uint32_t events)
{
	struct loop *loop = container(source, struct loop, messages);

	(void)events;
	term__lines(loop->term, true);
	log__flush(loop->log);
	term__lines(loop->term, false);
}

int loop__add(struct loop *loop, struct loop_source *source, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = source};

	return epoll_ctl(loop->epfd, EPOLL_CTL_ADD, source->fd, &ev) < 0 ? -errno : 0;
}

void loop__del(struct loop *loop, struct loop_source *source)
{
	epoll_ctl(loop->epfd, EPOLL_CTL_DEL, source->fd, NULL);
}

void loop__timer_add(struct loop *loop, struct loop_timer *timer)
{
	timer->next = loop->timers;
	loop->timers = timer;
}

static int add_own(struct loop *loop)
{
	int ret;

	loop->end = (struct loop_source) {.fd = loop->run->endfd, .ready = end_ready};
	loop->messages = (struct loop_source) {.fd = loop->log->wakefd, .ready = messages_ready};
	loop->signals = (struct loop_source) {.fd = loop->sigfd, .ready = signals_ready};
	loop->foreground.fire = look_for_foreground;
	loop__timer_add(loop, &loop->foreground);
	ret = loop__add(loop, &loop->end, EPOLLIN);
	if (!ret)
		ret = loop__add(loop, &loop->messages, EPOLLIN);
	if (!ret)
		ret = loop__add(loop, &loop->signals, EPOLLIN);
	return ret;
}

int loop__init(struct loop *loop, struct run *run, struct log *log, struct term *term,
	       struct lk_err *err)
{
	sigset_t set;
	int ret;

	memset(loop, 0, sizeof(*loop));
	loop->run = run;
	loop->log = log;
	loop->term = term;
	signal_set(&set);
	loop->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop->sigfd < 0)
		return lk_err__set(err, -errno, "signalfd: %s", strerror(errno));
	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	ret = loop->epfd < 0 ? -errno : add_own(loop);
	if (ret) {
		loop__fini(loop);
		return lk_err__set(err, ret, "epoll: %s", strerror(-ret));
	}
	return 0;
}

void loop__fini(struct loop *loop)
{
	if (loop->epfd >= 0)
		close(loop->epfd);
	if (loop->sigfd >= 0)
		close(loop->sigfd);
	loop->epfd = -1;
	loop->sigfd = -1;
}

/* Milliseconds to the next timer, rounded up; -1: none is set. */
static int next_timer(const struct loop *loop)
{
	uint64_t at = 0, now;

	for (const struct loop_timer *t = loop->timers; t; t = t->next) {
		if (t->at && (!at || t->at < at))
			at = t->at;
	}
	if (!at)
		return -1;
	now = timeline__now();
	if (at <= now)
		return 0;
	at = (at - now + 999999) / 1000000;
	return at < 3600000 ? (int)at : 3600000;
}

static void fire_timers(struct loop *loop)
{
	for (struct loop_timer *t = loop->timers; t; t = t->next) {
		if (!t->at || t->at > timeline__now())
			continue;
		t->at = 0;
		t->fire(t);
	}
}

/*
 * One event a turn: a handler may delete any source, and nothing about it is
 * left over from the same epoll_wait().  epoll serves ready descriptors in turn.
 */
static int turn(struct loop *loop)
{
	struct epoll_event ev;
	int n = epoll_wait(loop->epfd, &ev, 1, next_timer(loop));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n > 0) {
		struct loop_source *source = ev.data.ptr;

		source->ready(source, ev.events);
	}
	fire_timers(loop);
	return 0;
}

int loop__run(struct loop *loop)
{
	int ret = 0;

	take_terminal(loop);
	while (!loop->over && !ret)
		ret = turn(loop);
	if (ret)
		run__end(loop->run, RUN_END_HOST, -ret, -1);
	return ret;
}
