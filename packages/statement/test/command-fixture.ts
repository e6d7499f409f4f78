/** What the tests of commands share: a command and its values → what is run. */

import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { compileStatement } from '../src/compile.ts';
import { verbOf } from '../src/mongodb/command.ts';

interface Options {
  command?: string;
  variables?: Partial<Variable>[];
}

export function bind(command: object, context: unknown = {}, options: Options = {}) {
  const text = JSON.stringify(command);
  const compiled = compileStatement(text, {
    dialect: 'mongodb',
    command: options.command ?? verbOf(text) ?? 'SELECT',
    variables: (options.variables ?? []) as Variable[],
  });
  const { text: run } = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify(context) });
  return JSON.parse(run) as { filter: Record<string, unknown> } & Record<string, unknown>;
}

export const find = (filter: unknown) => ({ find: 'orders', filter });

/** A text that would be a path of the server's, were it no value, and how an expression holds it. */
export const text = '$secret';
export const literal = { $literal: text };
export const context = { x: text, n: 3 };

export const aggregate = (...pipeline: object[]) => ({ aggregate: 'o', pipeline });
export const update = (u: unknown, more: object = {}) => ({
  update: 'o',
  updates: [{ q: {}, u, ...more }],
});
export const run = (command: object) => bind(command, context);
