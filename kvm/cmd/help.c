// SPDX-License-Identifier: GPL-2.0-only
/* lkvm help [COMMAND] */
#include <string.h>

#include "cmd.h"

const struct cmd *cmd__find(const char *name)
{
	const struct cmd *cmd;

	/* The spellings that people try first. */
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	if (!strcmp(name, "--version"))
		name = "version";
	for (cmd = cmd_table; cmd->name; cmd++)
		if (!strcmp(cmd->name, name))
			return cmd;
	return NULL;
}

void cmd_help__help(FILE *out)
{
	const struct cmd *cmd;

	fprintf(out, "Usage: lkvm COMMAND [OPTION...]\n\nCommands:\n");
	for (cmd = cmd_table; cmd->name; cmd++)
		fprintf(out, "  %-10s %s\n", cmd->name, cmd->summary);
	fprintf(out, "\n'lkvm help COMMAND' describes one of them.\n");
}

int cmd_help(int argc, char **argv, struct timeline *tl)
{
	const struct cmd *cmd;

	(void)tl;
	if (argc < 2) {
		cmd_help__help(stdout);
		return STATUS_OK;
	}
	cmd = cmd__find(argv[1]);
	if (!cmd) {
		fprintf(stderr, "lkvm: no command '%s'; 'lkvm help' lists the commands\n", argv[1]);
		return STATUS_START;
	}
	cmd->help(stdout);
	return STATUS_OK;
}
