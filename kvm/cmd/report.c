// SPDX-License-Identifier: GPL-2.0-only
/* --report and --junit; lkvm.1, REPORT, describes each name. */
#include <lkvm/vcpu.h>

#include "cmd.h"
#include "json.h"
#include "report.h"

static void put_command(struct json *json, const struct report *r)
{
	json__begin(json, "command", '[');
	json__string(json, NULL, "lkvm");
	for (int i = 0; i < r->argc; i++)
		json__string(json, NULL, r->argv[i]);
	json__end(json, ']');
}

static void put_timeline(struct json *json, const struct report *r)
{
	struct report_event event[REPORT_EVENTS];
	unsigned int nr = report__timeline(r, event);
	uint64_t start = report__start(r);

	json__begin(json, "timeline", '[');
	for (unsigned int i = 0; i < nr; i++) {
		json__begin(json, NULL, '{');
		json__string(json, "event", event[i].name);
		json__ratio(json, "ms", (double)(event[i].at - start) / 1e6);
		if (event[i].detail)
			json__string(json, event[i].detail_key, event[i].detail);
		json__end(json, '}');
	}
	json__end(json, ']');
}

/* What is still awaited has no time. */
static void put_expects(struct json *json, const struct report *r)
{
	const struct watch_rules *rules = &r->cw->opts->rules;

	json__begin(json, "expect", '[');
	for (unsigned int i = 0; i < rules->nr_expect; i++) {
		json__begin(json, NULL, '{');
		json__string(json, "pattern", rules->expect[i].source);
		json__bool(json, "matched", i < r->cw->watch.seen);
		json__end(json, '}');
	}
	json__end(json, ']');
}

static void put_vcpus(struct json *json, const struct vm *vm)
{
	json__begin(json, "vcpus", '[');
	for (unsigned int i = 0; i < vm->nr_vcpus; i++) {
		const struct vcpu_stats *s = &vm->vcpus[i].stats;

		json__begin(json, NULL, '{');
		json__begin(json, "exits", '{');
		json__number(json, "io", s->io);
		json__number(json, "mmio", s->mmio);
		json__number(json, "other", s->other);
		json__number(json, "interrupted", s->interrupted);
		json__end(json, '}');
		json__end(json, '}');
	}
	json__end(json, ']');
}

static void put_versions(struct json *json, const struct report *r)
{
	json__begin(json, "versions", '{');
	json__string(json, "lkvm", cmd_version__text());
	json__string(json, "host_kernel", r->host.release);
	json__end(json, '}');
}

void report__json(FILE *out, const void *report)
{
	const struct report *r = report;
	struct json json = {.out = out};

	json__begin(&json, NULL, '{');
	json__number(&json, "schema_version", REPORT_VERSION);
	json__string(&json, "name", r->machine->opts->name ? r->machine->opts->name : "");
	json__string(&json, "outcome", r->outcome->kind);
	json__number(&json, "status", (uint64_t)r->outcome->status);
	json__string(&json, "reason", r->outcome->reason);
	put_command(&json, r);
	put_versions(&json, r);
	json__number(&json, "peak_memory_kib", r->peak_kib);
	put_timeline(&json, r);
	put_expects(&json, r);
	put_vcpus(&json, &r->machine->vm);
	stats__put_disks(&json, r->stats);
	json__end(&json, '}');
}

/* Text or an attribute of XML 1.0; what that cannot have becomes '?'. */
static void put_xml(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		switch (c) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			/* a guest's bytes need not be UTF-8, and the file has to be */
			fputc(c >= ' ' && c < 0x7f ? c : '?', out);
			break;
		}
	}
}

void report__junit(FILE *out, const void *report)
{
	const struct report *r = report;
	const struct outcome *o = r->outcome;
	uint64_t end = r->machine->vm.timeline.at[TIMELINE_END];
	double seconds = end ? (double)(end - report__start(r)) / 1e9 : 0;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"lkvm\" tests=\"1\" failures=\"%d\" errors=\"0\" skipped=\"0\" "
		"time=\"%.3f\">\n"
		"  <testcase classname=\"lkvm.run\" name=\"",
		o->status != STATUS_OK, seconds);
	put_xml(out, r->machine->opts->name ? r->machine->opts->name : "boot");
	fprintf(out, "\" time=\"%.3f\"", seconds);
	if (o->status == STATUS_OK) {
		fputs("/>\n</testsuite>\n", out);
		return;
	}
	fputs(">\n    <failure type=\"", out);
	put_xml(out, o->kind);
	fprintf(out, "\" message=\"exit status %d", o->status);
	if (o->reason[0])
		fputs(": ", out);
	put_xml(out, o->reason);
	fputs("\"/>\n  </testcase>\n</testsuite>\n", out);
}
