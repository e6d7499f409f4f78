/**
 * Parameters of their own for the places in which a variable is compared, so that PostgreSQL reads each as it reads the
 * value in the text: a variable without a type beside columns of two types, and a `string` beside a column that compares
 * otherwise than `text`, such as `char(n)` and `citext`.
 */

import type { Apart } from '../types.ts';
import type { Declaration } from '../values.ts';
import { Operands } from './beside.ts';
import type { Token } from './lexer.ts';
import type { Placeholder, Source } from './source.ts';

/** The parameters of the places in which variables stand. */
export interface Numbering extends Omit<Apart, 'text'> {
  /** For each place, the number of its parameter. */
  numbers: readonly number[];
  /** For each place, the cast that it has in place of that to the declared type. */
  casts: readonly (string | undefined)[];
}

const isText = (declaration: Declaration | undefined) => declaration?.elementType === 'string';

/** Undefined if one parameter for each variable does. */
export function numberApart(
  { text, placeholders, declarations, uses }: Source,
  tokens: readonly Token[],
): Numbering | undefined {
  const isUntyped = (variable: number) => declarations[variable]?.type === undefined;
  const mayDiffer = ({ variable }: Placeholder) =>
    isText(declarations[variable]) || (isUntyped(variable) && (uses[variable] as number) > 1);
  const operands = new Operands(text, tokens);
  const at = tokens.flatMap(({ kind }, i) => (kind === 'variable' ? [i] : []));
  const called = placeholders.map(({ variable }, n) =>
    isUntyped(variable) ? operands.typeCalled(at[n] as number) : undefined,
  );
  if (!placeholders.some(mayDiffer) && called.every((type) => type === undefined)) return undefined;
  const besides = placeholders.map((placeholder, n) =>
    mayDiffer(placeholder) ? (called[n] ?? operands.of(at[n] as number)) : called[n],
  );
  const bare = placeholders.map(
    ({ variable, role, list }, n) =>
      isText(declarations[variable]) && besides[n] !== undefined && (role !== 'whole' || list !== undefined),
  );
  const parameters = new Parameters();
  const numbers = placeholders.map(({ variable }, n) => {
    if (!isUntyped(variable)) return parameters.numberOf(variable, bare[n] ? besides[n] : undefined);
    if (called[n] !== undefined) return parameters.numberOf(variable, called[n]);
    if (besides[n] === undefined && operands.isTested(at[n] as number)) return parameters.lastOf(variable);
    return parameters.numberOf(variable, parameters.besideOf(variable, besides[n]));
  });
  const { params } = parameters;
  const texts = [...new Set(numbers.filter((_, n) => bare[n]))].map((number) => number - 1);
  const casts = placeholders.map((_, n) => called[n] ?? (bare[n] ? '' : undefined));
  const isNeeded = params.length > new Set(params).size || casts.some((cast) => cast !== undefined);
  return isNeeded ? { numbers, casts, params, texts } : undefined;
}

/** Numbers parameters from 1 in the order of their first places. */
class Parameters {
  /** For each parameter, its variable. */
  readonly params: number[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #first = new Map<number, string>();
  readonly #last = new Map<number, number>();

  /** The first operand of a variable shares its parameter with the places that have none. */
  besideOf(variable: number, beside: string | undefined): string | undefined {
    if (beside === undefined) return undefined;
    const first = this.#first.get(variable) ?? beside;
    this.#first.set(variable, first);
    return beside === first ? undefined : beside;
  }

  numberOf(variable: number, beside: string | undefined): number {
    const key = `${variable} ${beside ?? ''}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.params.push(variable);
      this.#numbers.set(key, number);
    }
    this.#last.set(variable, number);
    return number;
  }

  /** The parameter of the place before, which has a type if any has. */
  lastOf = (variable: number): number => this.#last.get(variable) ?? this.numberOf(variable, undefined);
}
