/** The program of the packed package. */

import { runCommandLine } from './run-command.ts';
import { openStandardOutput } from './standard-output.ts';

const { stdin, stderr, env } = process;
const stdout = openStandardOutput(process);
process.exitCode = await runCommandLine(process.argv.slice(2), { stdin, stdout, stderr, env });
