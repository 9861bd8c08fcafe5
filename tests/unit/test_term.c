// SPDX-License-Identifier: GPL-2.0-only
/*
 * The terminal is as it was, byte for byte, on every way out.  A child process
 * has the terminal; the test looks at it from outside, through the master.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kvm/cmd/loop.h>
#include <kvm/cmd/term.h>
#include <lkvm/timeline.h>

#define HANG_NS 20000000000ULL

struct fixture {
	int master, slave;
	struct termios before;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (openpty(&f->master, &f->slave, NULL, NULL, NULL))
		return -1;
	/* something of our own, to be told from any default */
	tcgetattr(f->slave, &f->before);
	f->before.c_cc[VINTR] = 0x18;
	f->before.c_lflag &= ~ECHOK;
	tcsetattr(f->slave, TCSANOW, &f->before);
	memset(&f->before, 0, sizeof(f->before));
	tcgetattr(f->slave, &f->before);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->master);
	close(f->slave);
	free(f);
	return 0;
}

static bool as_before(struct fixture *f)
{
	struct termios now;

	memset(&now, 0, sizeof(now)); /* the padding */
	return tcgetattr(f->slave, &now) == 0 && !memcmp(&now, &f->before, sizeof(now));
}

static bool is_raw(struct fixture *f)
{
	struct termios now;

	if (tcgetattr(f->slave, &now))
		return false;
	return !(now.c_lflag & (ICANON | ECHO | ISIG)) && !(now.c_oflag & OPOST);
}

static bool wait_for(struct fixture *f, bool (*cond)(struct fixture *f))
{
	uint64_t limit = timeline__now() + HANG_NS;

	while (!cond(f)) {
		if (timeline__now() > limit)
			return false;
		sched_yield();
	}
	return true;
}

/* In a child: the loop of a VM without devices.  The status is the signal that ended it. */
static int run_loop(int fd)
{
	struct run run;
	struct log log;
	struct term term;
	struct loop loop;

	loop__block_signals();
	term__init(&term, fd);
	if (run__init(&run) || log__init(&log, LOG_LEVEL_ERROR) ||
	    loop__init(&loop, &run, &log, &term, NULL))
		return 255;
	loop__run(&loop);
	term__fini(&term);
	loop__fini(&loop);
	log__fini(&log);
	run__fini(&run);
	return run.end == RUN_END_SIGNAL ? run.code : 254;
}

/*
 * A child that uses the terminal.  It is not its controlling terminal: at the
 * end of a session the kernel hangs the terminal up, and nothing could be seen.
 */
static pid_t spawn(struct fixture *f)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left of a test that failed */
	setsid();
	close(f->master);
	for (int sig = 1; sig < 32; sig++) /* without a sanitizer's handlers */
		signal(sig, SIG_DFL);
	_exit(run_loop(f->slave));
}

static int wait_status(pid_t pid, int options)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, options), pid);
	return status;
}

/* How a child that uses the terminal ends by @sig; the terminal is as it was then. */
static int ended_by(struct fixture *f, int sig)
{
	pid_t pid = spawn(f);
	int status;

	assert_true(wait_for(f, is_raw));
	kill(pid, sig);
	status = wait_status(pid, 0);
	assert_true(as_before(f));
	return status;
}

static void test_signals_that_end(void **state)
{
	static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT,   SIGUSR1, SIGUSR2,
				      SIGALRM, SIGXCPU, SIGPROF, SIGVTALRM, SIGIO,   SIGPWR};

	for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		int status = ended_by(*state, signals[i]);

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), signals[i]);
	}
}

/* nohup, and sh for a job in the background: ignored before us, ignored by us. */
static void test_ignored_signals(void **state)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP};
	struct fixture *f = *state;
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setsid();
		for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			signal(signals[i], SIG_IGN);
		_exit(run_loop(f->slave));
	}
	assert_true(wait_for(f, is_raw));
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		kill(pid, signals[i]);
	kill(pid, SIGUSR2); /* numbered higher than the first three: taken after them */
	status = wait_status(pid, WUNTRACED);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), SIGUSR2);
	assert_true(as_before(f));
}

/* A file at its limit of size is an error of the write, as a full disk is. */
static void test_file_size_limit(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096};
		int fd = memfd_create("limited", MFD_CLOEXEC);

		loop__block_signals();
		if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit))
			_exit(1);
		_exit(pwrite(fd, "x", 1, 4096) == -1 && errno == EFBIG ? 0 : 2);
	}
	status = wait_status(pid, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_crashes(void **state)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};

	for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		int status = ended_by(*state, signals[i]);

		/* still the death that it was */
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
	}
}

/* A real fault, not a sent signal. */
static void test_fault(void **state)
{
	struct fixture *f = *state;
	struct term term;
	pid_t pid = fork();
	int status;

	if (!pid) {
		signal(SIGILL, SIG_DFL);
		term__init(&term, f->slave);
		if (term__raw(&term) || !is_raw(f))
			_exit(1);
		__builtin_trap();
	}
	status = wait_status(pid, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGILL);
	assert_true(as_before(f));
}

static void test_stop_and_continue(void **state)
{
	struct fixture *f = *state;
	pid_t pid = spawn(f);

	for (int i = 0; i < 3; i++) {
		assert_true(wait_for(f, is_raw));
		kill(pid, SIGTSTP);
		assert_true(WIFSTOPPED(wait_status(pid, WUNTRACED)));
		assert_true(as_before(f));
		kill(pid, SIGCONT);
	}
	assert_true(wait_for(f, is_raw));
	kill(pid, SIGTERM);
	wait_status(pid, 0);
	assert_true(as_before(f));
}

/* SIGSTOP cannot be caught: a shell has set the terminal before it continues us. */
static void test_raw_again_after_the_shell_had_it(void **state)
{
	struct fixture *f = *state;
	pid_t pid = spawn(f);

	assert_true(wait_for(f, is_raw));
	kill(pid, SIGSTOP);
	assert_true(WIFSTOPPED(wait_status(pid, WUNTRACED)));
	tcsetattr(f->slave, TCSANOW, &f->before);
	kill(pid, SIGCONT);
	assert_true(wait_for(f, is_raw));
	kill(pid, SIGTERM);
	wait_status(pid, 0);
	assert_true(as_before(f));
}

/*
 * The shell of a terminal: starts a job in the background, reports to the test
 * by exit status; brings it to the foreground when it gets a byte.
 */
static void shell(struct fixture *f, int go)
{
	pid_t job;
	int status;
	char byte;

	setsid();
	ioctl(f->slave, TIOCSCTTY, 0);
	signal(SIGTTOU, SIG_IGN);
	job = fork();
	if (!job) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		signal(SIGTTOU, SIG_DFL);
		_exit(run_loop(f->slave));
	}
	setpgid(job, job);
	if (read(go, &byte, 1) != 1)
		_exit(1);
	if (!as_before(f))
		_exit(6);
	/* it runs, and nothing has stopped it */
	if (waitpid(job, &status, WUNTRACED | WNOHANG) != 0)
		_exit(2);
	tcsetpgrp(f->slave, job);
	if (read(go, &byte, 1) != 1)
		_exit(3);
	kill(job, SIGTERM);
	waitpid(job, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != SIGTERM)
		_exit(4);
	_exit(as_before(f) ? 0 : 5); /* the terminal is hung up when we are gone */
}

static void test_background_then_foreground(void **state)
{
	struct fixture *f = *state;
	int go[2], status;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid)
		shell(f, go[0]);
	assert_true(as_before(f));
	assert_int_equal(write(go[1], "1", 1), 1);
	assert_true(wait_for(f, is_raw));
	assert_int_equal(write(go[1], "2", 1), 1);
	status = wait_status(pid, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(go[0]);
	close(go[1]);
}

static void test_background_touches_nothing(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();
	struct term term;

	if (!pid) {
		setsid();
		ioctl(f->slave, TIOCSCTTY, 0);
		if (fork()) {
			int status;

			wait(&status);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
		}
		setpgid(0, 0);
		term__init(&term, f->slave);
		if (!term__background(&term))
			_exit(1);
		if (term__raw(&term) != -EAGAIN)
			_exit(2);
		term__fini(&term);
		_exit(as_before(f) ? 0 : 3);
	}
	assert_int_equal(wait_status(pid, 0), 0);
}

static void test_no_terminal(void **state)
{
	struct term term;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	term__init(&term, fds[0]);
	assert_false(term.tty);
	assert_int_equal(term__raw(&term), 0);
	assert_false(term.raw);
	term__fini(&term);
	close(fds[0]);
	close(fds[1]);
	term__init(&term, -1);
	assert_int_equal(term__raw(&term), 0);
	term__fini(&term);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_signals_that_end),
		TEST(test_ignored_signals),
		TEST(test_file_size_limit),
		TEST(test_crashes),
		TEST(test_fault),
		TEST(test_stop_and_continue),
		TEST(test_raw_again_after_the_shell_had_it),
		TEST(test_background_then_foreground),
		TEST(test_background_touches_nothing),
		TEST(test_no_terminal),
	};

	return cmocka_run_group_tests_name("term", tests, NULL, NULL);
}
