/** What a command is. The help, the completion and docs/cli.md are derived from the table of commands. */

import type { Access, Environment } from './access.ts';
import type { Hub } from './hub.ts';
import type { Output } from './screen.ts';

export interface Option {
  type: 'string' | 'boolean';
  /** What stands for the value in the help. */
  value?: string;
  help: string;
  choices?: readonly string[];
  /** The command fails without it. */
  isRequired?: true;
}

export type Options = Readonly<Record<string, Option>>;

export interface Command {
  /** One word, or two. */
  name: string;
  /** As in `DIR` or `QUERY [NAME=VALUE...]`. */
  arguments?: string;
  summary: string;
  options?: Options;
  /** What the shell completes for an argument. */
  completes?: 'files' | readonly string[];
  /** What only the program that has the hub's store can run, such as `backup`. Undefined: nothing. */
  operators?: string;
  run?: Run;
}

export interface Input {
  positionals: string[];
  values: Readonly<Record<string, string | boolean | undefined>>;
}

export interface Context {
  stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  /** Results. */
  stdout: Output;
  /** Messages for people. */
  stderr: Output;
  env: Environment;
  /** The table of commands. */
  commands: readonly Command[];
  /** `--json`. */
  json: boolean;
  /** Throws if there is no key. */
  access(): Promise<Access>;
  hub(): Promise<Hub>;
}

/** Returns the exit code; nothing is 0. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing.
export type Run = (input: Input, context: Context) => Promise<number | void>;

export const textOf = ({ values }: Input, name: string): string | undefined => {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
};

export const isSet = ({ values }: Input, name: string): boolean => values[name] === true;
