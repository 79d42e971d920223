// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * main.c - entry of the ephlvm command.
 * Owns nothing: process.c settles the process, dispatch.c runs the command line. Must stay this
 * small, because the tests run everything but this file.
 */
#include "cli.h"

int main(int argc, char **argv)
{
	cli_process_init();
	return cli_main(argc, argv);
}
