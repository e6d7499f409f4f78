/** Finds the command of a line of words, runs it, and turns its failure into a message and an exit code. */

import { parseArgs } from 'node:util';
import { ProblemError } from '@datahub/client';
import type { Environment } from './access.ts';
import { findAccess, type Known, requireKey } from './access.ts';
import type { Command, Context, Input, Run } from './command.ts';
import { commands } from './commands.ts';
import { globalOptions, helpOf, overviewOf } from './derived/help.ts';
import { CommandError, describeProblem, exitCodeOf, exitCodes } from './failure.ts';
import { openHub } from './hub.ts';
import { note, print } from './output.ts';
import { createOutput, type Stream } from './screen.ts';

export interface Program {
  stdin: Context['stdin'];
  stdout: Stream;
  stderr: Stream;
  env: Environment;
  /** Finds a hub where neither the environment nor the profile names one. */
  findHub?: (env: Environment) => Promise<Known>;
  /** Runs commands, by their names, that need the hub's store, instead of what the table says. */
  runs?: Readonly<Record<string, Run>>;
}

/** Resolves with the exit code. */
export async function runCommandLine(words: readonly string[], program: Program): Promise<number> {
  const { env } = program;
  const outputs = {
    stdout: createOutput(program.stdout, { env, isData: true }),
    stderr: createOutput(program.stderr, { env, isData: false }),
  };
  try {
    return await dispatch(words, { ...program, ...outputs });
  } catch (err) {
    const { message, exitCode } = toFailure(err);
    if (words.includes('--json') && err instanceof ProblemError)
      print(outputs, JSON.stringify(err.problem, null, 2));
    note(outputs, message, 'red');
    return exitCode;
  }
}

type Opened = Omit<Program, 'stdout' | 'stderr'> & Pick<Context, 'stdout' | 'stderr'>;

async function dispatch(words: readonly string[], program: Opened): Promise<number> {
  const found = findCommand(words);
  if (found === undefined) {
    const isAsked = words.length === 0 || words[0] === '--help' || words[0] === '-h' || words[0] === 'help';
    const group = commands.filter(({ name }) => name.startsWith(`${words[0]} `));
    const text = overviewOf(group.length > 0 ? group : commands);
    if (isAsked) print(program, text);
    else
      note(
        program,
        `${group.length > 0 ? 'The command is incomplete.' : `There is no command ${words[0]}.`}\n\n${text}`,
      );
    return isAsked ? exitCodes.done : exitCodes.failed;
  }
  const { command, rest } = found;
  const input = readInput(command, rest);
  if (input.values.help === true) {
    print(program, helpOf(command));
    return exitCodes.done;
  }
  requireArguments(command, input);
  const run = program.runs?.[command.name] ?? command.run;
  if (run === undefined)
    throw new CommandError(
      `${command.name} is for operators: ${command.operators} Run it in the repository of the hub (npm run datahub) or in its image.`,
    );
  return (await run(input, createContext(program, input))) ?? exitCodes.done;
}

function findCommand(words: readonly string[]): { command: Command; rest: string[] } | undefined {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(' ');
    const command = words.length >= count && commands.find((one) => one.name === name);
    if (command) return { command, rest: words.slice(count) };
  }
  return undefined;
}

function readInput(command: Command, args: string[]): Input {
  const declared = Object.entries({ ...command.options, ...globalOptions });
  const options = Object.fromEntries(declared.map(([name, { type }]) => [name, { type }]));
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    for (const [name, { choices }] of declared) {
      const value = (values as Input['values'])[name];
      if (choices !== undefined && value !== undefined && !choices.includes(String(value)))
        throw new Error(`--${name} must be one of ${choices.join(', ')}.`);
    }
    return { positionals, values };
  } catch (err) {
    throw new CommandError(`${(err as Error).message}\n\n${helpOf(command)}`);
  }
}

function requireArguments(command: Command, { positionals }: Input): void {
  const words = command.arguments?.split(' ') ?? [];
  const least = words.filter((word) => !word.startsWith('[')).length;
  const most = command.arguments?.includes('...') ? Number.POSITIVE_INFINITY : words.length;
  if (positionals.length >= least && positionals.length <= most) return;
  const fault =
    positionals.length < least ? `${words[positionals.length]} is missing.` : 'There are too many arguments.';
  throw new CommandError(`${fault}\n\n${helpOf(command)}`);
}

function createContext({ findHub, runs: _, ...terminal }: Opened, { values }: Input): Context {
  const access = async () => requireKey(await findAccess(terminal.env, findHub));
  return {
    ...terminal,
    commands,
    json: values.json === true,
    access,
    hub: async () => openHub(await access()),
  };
}

function toFailure(err: unknown): { message: string; exitCode: number } {
  if (err instanceof CommandError) return err;
  if (err instanceof ProblemError)
    return { message: describeProblem(err), exitCode: exitCodeOf(err.problem) };
  return { message: err instanceof Error ? err.message : String(err), exitCode: exitCodes.failed };
}
