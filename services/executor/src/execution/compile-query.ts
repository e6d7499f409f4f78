/** A definition → what the pipeline binds: the statement compiler behind the pipeline's own words. */

import { type CompiledStatement, compileStatement } from '@datahub/statement/sql/compile';
import type { QueryDefinition } from '../definitions/definition-cache.ts';
import type { Statement } from '../engine.ts';
import type { CompileQuery, PreparedQuery } from './compiled-query.ts';

export const compileQuery: CompileQuery = (definition) => {
  const compiled = compileStatement(definition.text, {
    dialect: definition.source.engine,
    command: definition.command,
    variables: definition.variables,
  });
  return new CompiledQuery(compiled, definition);
};

class CompiledQuery implements PreparedQuery {
  readonly kind: PreparedQuery['kind'];
  readonly uncounted: boolean;
  readonly #compiled: CompiledStatement;
  readonly #types: Map<string, string | undefined>;
  /** Names the prepared statement on a connection: queries and their versions never share one. */
  readonly #key: string;

  constructor(compiled: CompiledStatement, { queryId, version, variables }: QueryDefinition) {
    this.kind = compiled.kind;
    this.uncounted = compiled.uncounted;
    this.#compiled = compiled;
    this.#key = `${queryId}.${version}`;
    this.#types = new Map(variables.map(({ key, type }) => [key, type]));
  }

  bind(values: Parameters<PreparedQuery['bind']>[0]): Statement {
    const { key, text, params } = this.#compiled.bind(values);
    return { key: key === '' ? this.#key : `${this.#key}.${key}`, text, params, kind: this.kind };
  }

  describable(): Statement {
    const { text, params } = this.#compiled.describable();
    return { key: `${this.#key}.describe`, text, params, kind: this.kind };
  }

  variables(signature: Parameters<PreparedQuery['variables']>[0]): ReturnType<PreparedQuery['variables']> {
    const { placeholders } = this.#compiled.describable();
    return this.#compiled.variables.map((key) => {
      const type = this.#types.get(key) ?? signature.parameters[placeholders.indexOf(key)];
      return type === undefined ? { key } : { key, type };
    });
  }

  /** PostgreSQL alone counts its placeholders in errors, and names the one whose type nothing tells. */
  readonly toWords = (message: string): string => {
    const numbered = /could not determine data type of parameter \$(\d+)/.exec(message);
    const key = numbered && this.#compiled.variables[Number(numbered[1]) - 1];
    if (key) {
      return `The statement alone does not tell the type of :${key}. Declare it in the query’s context, as in {"key": "${key}", "type": "string"}.`;
    }
    return message.replace(/parameter \$(\d+)/g, (found, number) => {
      const name = this.#compiled.variables[Number(number) - 1];
      return name === undefined ? found : `:${name}`;
    });
  };

  toStored(...[fault, run]: Parameters<PreparedQuery['toStored']>): ReturnType<PreparedQuery['toStored']> {
    return this.#compiled.toStored(run.text, fault);
  }
}
