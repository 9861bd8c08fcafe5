// SPDX-License-Identifier: GPL-2.0-only
/* The moments of a run, put in order. */
#include "report.h"

struct list {
	struct report_event *event;
	unsigned int nr;
};

/* Into its place from behind: what happened at once stays in the order of the calls. */
static void add(struct list *list, struct report_event e)
{
	unsigned int i = list->nr;

	if (!e.at || list->nr == REPORT_EVENTS)
		return;
	for (; i > 0 && list->event[i - 1].at > e.at; i--)
		list->event[i] = list->event[i - 1];
	list->event[i] = e;
	list->nr++;
}

static void add_marks(struct list *list, const struct timeline *tl)
{
	for (unsigned int i = 0; i < TIMELINE_MARKS; i++)
		add(list, (struct report_event) {.at = tl->at[i], .name = timeline__name(i)});
}

/* Of all its queues. */
static uint64_t first_request(const struct virtio_blk *blk)
{
	uint64_t first = 0;

	for (unsigned int q = 0; q < blk->dev.nr_queues; q++) {
		uint64_t at = virtio_blk__first(blk, q);

		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

static void add_disks(struct list *list, const struct report *r)
{
	for (unsigned int i = 0; i < r->stats->nr_disks; i++) {
		const struct stats_disk *d = &r->stats->disk[i];
		struct report_event e = {.detail_key = "serial", .detail = d->serial};

		e.name = "driver-ok";
		e.at = r->machine->disk[i].pci.driver_ok_at;
		add(list, e);
		e.name = "first-disk-io";
		e.at = first_request(&r->machine->disk[i].blk);
		add(list, e);
	}
	add(list, (struct report_event) {.at = r->machine->rng_pci.driver_ok_at,
					 .name = "driver-ok",
					 .detail_key = "device",
					 .detail = "rng"});
}

static void add_console(struct list *list, const struct console_watch *cw)
{
	add(list, (struct report_event) {.at = cw->first_byte, .name = "first-console-byte"});
	for (unsigned int i = 0; i < cw->watch.seen; i++)
		add(list, (struct report_event) {.at = cw->expect_at[i],
						 .name = "expect",
						 .detail_key = "pattern",
						 .detail = cw->opts->rules.expect[i].source});
}

uint64_t report__start(const struct report *report)
{
	const struct timeline *tl = &report->machine->vm.timeline;

	return tl->at[TIMELINE_MAIN] - tl->exec_ns;
}

unsigned int report__timeline(const struct report *report, struct report_event event[REPORT_EVENTS])
{
	struct list list = {.event = event};

	add(&list, (struct report_event) {.at = report__start(report), .name = "exec"});
	add_marks(&list, &report->machine->vm.timeline);
	add_disks(&list, report);
	add_console(&list, report->cw);
	return list.nr;
}
