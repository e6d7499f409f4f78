/** What the tests of commands share: a command and its values → what is run. */

import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { compileStatement } from '../statement.ts';
import { verbOf } from './command.ts';

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
