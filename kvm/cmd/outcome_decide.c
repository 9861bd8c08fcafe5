// SPDX-License-Identifier: GPL-2.0-only
/* Which exit status the end of a VM and the text of its console make. */
#include <signal.h>

#include "cmd.h"
#include "outcome.h"

/* The guest itself chose to end, or made its own end. */
static enum cmd_status guest_ended(const struct outcome_facts *f)
{
	if (f->end == RUN_END_TRIPLE_FAULT)
		return STATUS_TRIPLE_FAULT;
	if (f->end == RUN_END_EXIT_PORT && f->code)
		return f->code <= STATUS_GUEST_MAX ? (enum cmd_status)f->code : STATUS_GUEST_MAX;
	return f->expecting && !f->satisfied ? STATUS_UNEXPECTED : STATUS_OK;
}

enum cmd_status outcome__decide(const struct outcome_facts *f)
{
	switch (f->end) {
	case RUN_END_KEYBOARD:
		return STATUS_SIGNAL + SIGINT;
	case RUN_END_SIGNAL:
		return STATUS_SIGNAL + f->code;
	case RUN_END_KVM_INTERNAL:
	case RUN_END_KVM_ENTRY:
	case RUN_END_KVM_ERROR:
	case RUN_END_HOST:
	case RUN_END_NONE:
		return STATUS_KVM;
	default:
		break;
	}
	if (f->failed)
		return STATUS_FAIL_ON;
	if (f->satisfied && !f->wait_end)
		return STATUS_OK;
	if (f->panicked)
		return STATUS_PANIC;
	if (f->end == RUN_END_TIMEOUT)
		return STATUS_TIMEOUT;
	return guest_ended(f);
}
