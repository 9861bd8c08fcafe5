// SPDX-License-Identifier: GPL-2.0
/*
 * Runs one command inside the box and passes on what it prints.
 *
 * agent -p DIR [-i | -t TTY] -- COMMAND...
 *
 *   -p DIR   where the ports are: stdout, stderr, status and, with -i, stdin
 *   -i       the command's standard input is the port stdin, not /dev/null
 *   -t TTY   all three are this terminal, which becomes the controlling one
 *
 * The command gets pipes, as it would in a pipeline: a virtio port can be
 * opened once only, and a test may well want to open /dev/stderr.  At the end
 * "exit STATUS" goes to the port status, a killed command's status being 128
 * and the signal, as in a shell.
 *
 * Every few seconds a line "alive" goes to the port status, so that a machine
 * that has stopped can be told from a command that takes long.  What comes in
 * on the port pulse is thrown away: all that it is for is its interrupt (see
 * watch_over in tests/box/run).
 *
 * A write to a port returns when the data is queued.  The machine is about to
 * be switched off, so each port is waited for: it is writable again once the
 * host has taken everything (virtio 1.2, 5.3.6: the buffer is used by then).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* How long output of processes that the command left behind is waited for. */
#define GRACE_MS 1000
#define ALIVE_MS 5000

struct stream {
	int from; /* the command's end of the story, -1 at its end */
	int to;
};

static void fail(const char *what)
{
	fprintf(stderr, "agent: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_port(const char *dir, const char *name, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	return fd;
}

static void drain(int port)
{
	struct pollfd pfd = {.fd = port, .events = POLLOUT};

	while (poll(&pfd, 1, -1) < 0 && errno == EINTR)
		;
}

static void put(int fd, const char *data, size_t left)
{
	while (left) {
		ssize_t n = write(fd, data, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* nobody listens any more */
		data += n;
		left -= n;
	}
}

static void pass_on(struct stream *s)
{
	char buf[32768];
	ssize_t n = read(s->from, buf, sizeof(buf));

	if (n > 0) {
		put(s->to, buf, n);
	} else if (n == 0 || errno != EINTR) {
		close(s->from);
		s->from = -1;
	}
}

static void child(char **argv, int in, int out, int err, bool tty)
{
	sigset_t none;

	setsid();
	if (tty)
		ioctl(in, TIOCSCTTY, 1);
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void discard(int fd)
{
	char buf[64];

	if (read(fd, buf, sizeof(buf)) < 0)
		return; /* there was nothing, which is as good */
}

/* Passes on output until the command has ended and its output with it. */
static void pump(struct stream *streams, int sigfd, int status_port, int pulse)
{
	long next = now_ms() + ALIVE_MS, end = 0;
	bool ended = false;

	while (!ended || streams[0].from >= 0 || streams[1].from >= 0) {
		struct pollfd pfd[4] = {
			{.fd = streams[0].from, .events = POLLIN},
			{.fd = streams[1].from, .events = POLLIN},
			{.fd = ended ? -1 : sigfd, .events = POLLIN},
			{.fd = pulse, .events = POLLIN},
		};
		int n = poll(pfd, 4, ended ? GRACE_MS : ALIVE_MS);
		long now = now_ms();

		if (ended && now >= end)
			return;
		if (now >= next) {
			put(status_port, "alive\n", 6);
			next = now + ALIVE_MS;
		}
		if (n <= 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (pfd[i].revents)
				pass_on(&streams[i]);
		if (pfd[3].revents)
			discard(pulse);
		if (pfd[2].revents) {
			ended = true;
			end = now + GRACE_MS;
		}
	}
}

int main(int argc, char **argv)
{
	const char *dir = NULL, *tty = NULL;
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	int opt, in, status, sigfd, status_port, pulse;
	struct stream streams[2] = {{-1, -1}, {-1, -1}};
	bool input = false;
	char line[32];
	sigset_t set;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+p:it:")) != -1) {
		if (opt == 'p')
			dir = optarg;
		else if (opt == 'i')
			input = true;
		else if (opt == 't')
			tty = optarg;
		else
			return 2;
	}
	if (!dir || optind == argc)
		return 2;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigfd = signalfd(-1, &set, SFD_CLOEXEC);
	status_port = open_port(dir, "status", O_WRONLY);
	pulse = open_port(dir, "pulse", O_RDONLY | O_NONBLOCK);

	if (tty) {
		in = open(tty, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (in < 0)
			fail(tty);
	} else {
		in = input ? open_port(dir, "stdin", O_RDONLY)
			   : open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
			fail("pipe");
		streams[0].from = out[0];
		streams[0].to = open_port(dir, "stdout", O_WRONLY);
		streams[1].from = err[0];
		streams[1].to = open_port(dir, "stderr", O_WRONLY);
	}

	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		child(argv + optind, in, tty ? in : out[1], tty ? in : err[1], tty != NULL);
	}
	close(out[1]);
	close(err[1]);
	put(status_port, "alive\n", 6);
	pump(streams, sigfd, status_port, pulse);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (tty) {
		tcdrain(in);
	} else {
		drain(streams[0].to);
		drain(streams[1].to);
	}
	snprintf(line, sizeof(line), "exit %d\n",
		 WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	put(status_port, line, strlen(line));
	drain(status_port);
	return 0;
}
