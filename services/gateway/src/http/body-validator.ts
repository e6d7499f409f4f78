/** Bodies against their schemas: at the price of one look where they fit, and with several faults named where they do not. */

import { Ajv } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { type Finding, toValidationError } from './validation-errors.ts';

const options = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  addUsedSchema: false,
  allowUnionTypes: true,
} as const;

/**
 * The validator either stops at the first fault or notes every one, and a body can hold hundreds of thousands, which
 * cost a second. So all are looked for in a part of the body, which of an ordinary one is the whole.
 */
export function createBodyValidators(): FastifySchemaCompiler<object> {
  const first = new Ajv(options);
  const all = new Ajv({ ...options, allErrors: true });
  return ({ schema }) => {
    const fits = first.compile(schema);
    const faultless = all.compile(schema);
    const known = namesIn(schema);
    return (body: unknown) => {
      if (fits(body)) return true;
      const part = new Part(known);
      const foundFirst = fits.errors ?? [];
      const found = faultless(part.of(body)) ? foundFirst : (faultless.errors ?? foundFirst);
      return { error: toValidationError(found as Finding[], 'body', { isWhole: part.isWhole }) };
    };
  };
}

/** Of each list and each object. */
const takenMax = 100;

class Part {
  isWhole = true;
  readonly #known: ReadonlySet<string>;

  /** Members of these names are always taken, so that none is missed that is there. */
  constructor(known: ReadonlySet<string>) {
    this.#known = known;
  }

  of(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return this.#ofObject(value as Record<string, unknown>);
    if (value.length > takenMax) this.isWhole = false;
    return value.slice(0, takenMax).map((element) => this.of(element));
  }

  #ofObject(value: Record<string, unknown>): object {
    const names = new Set<string>();
    for (const name in value) {
      if (names.size >= takenMax) {
        this.isWhole = false;
        break;
      }
      names.add(name);
    }
    for (const name of this.#known) if (Object.hasOwn(value, name)) names.add(name);
    // Not by assignment, which would take a member named __proto__ for something else.
    return Object.fromEntries([...names].map((name) => [name, this.of(value[name])]));
  }
}

/** All names of members that a schema gives, at any depth. */
function namesIn(schema: unknown, names = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return names;
  const { properties } = schema as { properties?: object };
  for (const name of Object.keys(properties ?? {})) names.add(name);
  for (const inner of Object.values(schema)) namesIn(inner, names);
  return names;
}
