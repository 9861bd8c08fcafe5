// SPDX-License-Identifier: GPL-2.0-only
/* The command table, and nothing else. */
#include <stdio.h>

#include <lkvm/timeline.h>

#include "kvm/cmd/cmd.h"

const struct cmd cmd_table[] = {
	{"run", "boot a guest", cmd_run, cmd_run__help},
	{"version", "print the version and what lkvm was built with", cmd_version,
	 cmd_version__help},
	{"help", "describe a command", cmd_help, cmd_help__help},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	const struct cmd *cmd;
	struct timeline tl;

	timeline__init(&tl);
	if (argc < 2) {
		cmd_help__help(stderr);
		return STATUS_START;
	}
	cmd = cmd__find(argv[1]);
	if (!cmd) {
		fprintf(stderr, "lkvm: no command '%s'; 'lkvm help' lists the commands\n", argv[1]);
		return STATUS_START;
	}
	return cmd->run(argc - 1, argv + 1, &tl);
}
