/** The program of the packed package. */

import { runCommandLine } from './run-command.ts';

const { stdin, stdout, stderr, env } = process;
// A reader such as `head` may end before the output does.
stdout.on('error', () => process.exit(0));
process.exitCode = await runCommandLine(process.argv.slice(2), { stdin, stdout, stderr, env });
