/** The sessions of the steps of a transaction: what one step sets must not hold for the next one. */

import type { Statement } from '../../ports/engine.ts';
import { refusedOption } from '../prepare.ts';

export class StepSessions {
  /** Of the first step: the path and the role, which all steps share. */
  #shared: string | undefined;
  readonly #names = new Set<string>();

  /** The statement with what empties the settings of earlier steps. Throws OPTION_REFUSED for another path or role. */
  of(statement: Statement): Statement {
    const session = statement.session ?? [];
    const isSetting = (name: string) => name.includes('.');
    const shared = JSON.stringify(session.filter(([name]) => !isSetting(name)));
    this.#shared ??= shared;
    if (shared !== this.#shared)
      throw refusedOption(
        'All queries of a transaction must have the same searchPath and role in their sessions.',
      );
    const own = new Set(session.map(([name]) => name));
    const left = [...this.#names].filter((name) => !own.has(name));
    for (const name of own) if (isSetting(name)) this.#names.add(name);
    if (left.length === 0) return statement;
    return { ...statement, session: [...left.map((name) => [name, ''] as const), ...session] };
  }
}
