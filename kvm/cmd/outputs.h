/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OUTPUTS_H
#define LKVM_CMD_OUTPUTS_H

#include "out_file.h"
#include "report.h"
#include "stats.h"

/*
 * What a run leaves when the VM has ended: --stats, --report, --junit.  Main thread.
 */
enum {
	OUT_STATS,
	OUT_REPORT,
	OUT_JUNIT,
	NR_OUTPUTS
};
_Static_assert(NR_OUTPUTS <= SANDBOX_FILES, "the sandbox lets each be made");

struct outputs {
	const struct run_options *opts;
	struct out_file file[NR_OUTPUTS];
	struct stats stats;
	struct report report; /* argc, argv: the caller's, before outputs__write() */
};

/*
 * The files have to be there before the guest, and before the sandbox.  @opts has to
 * stay.  0 or -errno with a line, and nothing is left behind.
 */
int outputs__open(struct outputs *o, const struct run_options *opts, struct lk_err *err);
/* The files that the sandbox has to leave, SANDBOX_FILES of them. */
void outputs__sandbox(const struct outputs *o, const char **file);
/*
 * All that was asked for; ends the I/O threads.  What cannot be written is told on
 * stderr, and changes nothing in the outcome.  vCPU threads have ended.
 */
void outputs__write(struct outputs *o, struct machine *m, const struct console_watch *cw,
		    const struct outcome *outcome);
void outputs__close(struct outputs *o); /* what is not written stays as it was */

#endif
