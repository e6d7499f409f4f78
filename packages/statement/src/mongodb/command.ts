/**
 * Compiles a stored MongoDB command to the Extended JSON that runs. A command has the server's own syntax (`find`,
 * `aggregate`, …), with an allowlist of fields for each command.
 */

import { endOfString } from '@datahub/contract/json-text';
import type { FieldFault } from '@datahub/contract/validation-error';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import { lineAndColumn } from '../sql/lexer.ts';
import { noFacts } from '../sql/nullability.ts';
import type { CompiledStatement, StatementKind } from '../types.ts';
import {
  contextInvalid,
  declare,
  parseValue,
  resolveValues,
  toJsonText,
  UsedCharacters,
  type Value,
} from '../values.ts';
import { CommandWalker, type Walk } from './command-walker.ts';
import { isObject, type ValueFault, valueText } from './extended-json.ts';
import { below, reject, TemplateWriter } from './template.ts';
import { commandVerbs } from './verbs.ts';

/** Of values in the places after the first one. The driver reads the whole command in one turn. */
const repeatedCharactersMax = 2_097_152;

/** Returns the hub's command for a text, for callers who leave it out. */
export function verbOf(text: string): string | undefined {
  try {
    return commandVerbs.get(Object.keys(JSON.parse(text))[0] ?? '');
  } catch {
    return undefined;
  }
}

/** Throws SQL_REJECTED, COMMAND_MISMATCH. */
export function compileCommand(
  text: string,
  options: { command: string; variables: Variable[] },
): CompiledStatement {
  const declared = new Map(options.variables.map((variable) => [variable.key, variable]));
  const command = parseCommand(text);
  const [name = ''] = Object.keys(command);
  const verb = commandVerbs.get(name);
  if (verb === undefined) throw unknownCommand(name);
  if (options.command !== verb && options.command !== name.toUpperCase())
    throw mismatch(name, verb, options.command);
  const out = new TemplateWriter((key) => declared.has(key));
  writeCommand(command, name, { out, walker: new CommandWalker(out, movedNames(text, command)) });
  const { pieces, placeholders } = out.template;
  const names = [...new Set(placeholders.map(({ variable }) => variable))];
  const numbers = new Map(names.map((key, number) => [key, number]));
  const declarations = names.map((key) => declare(key, declared.get(key)));
  const known = new Set([...names, ...declared.keys()]);
  const kind: StatementKind = verb === 'SELECT' ? 'read' : 'standalone';

  const write = (values: Value[]) => {
    const faults: FieldFault[] = [];
    const used = new UsedCharacters(repeatedCharactersMax);
    const known = new Map<string, string>();
    const texts = placeholders.map((placeholder) => {
      const { variable, form, type = '' } = placeholder;
      const i = numbers.get(variable) as number;
      const use = `${i} ${form} ${type}`;
      const repeated = known.get(use);
      if (repeated !== undefined) used.add(repeated.length);
      const written = repeated ?? valueText(values[i] ?? null, placeholder, declarations[i]?.type);
      if (typeof written === 'string') {
        known.set(use, written);
        return written;
      }
      faults.push({ path: ['context', variable], detail: (written as ValueFault).detail });
      return '';
    });
    if (faults.length > 0) throw contextInvalid(faults);
    const run = pieces.map((piece, i) => piece + (texts[i] ?? '')).join('');
    return { key: '', text: run, params: [] };
  };
  return {
    kind,
    verb,
    uncounted: false,
    variables: names,
    bind: (given) => write(resolveValues(declarations, given, known)),
    lists: new Set(),
    describable: () => [{ ...write(names.map(() => null)), placeholders: names }],
    columnFacts: () => noFacts,
    warnings: () => [],
    toStored: (_run, fault) => fault,
  };
}

function parseCommand(text: string): Record<string, Value> {
  let parsed: Value;
  try {
    parsed = parseValue(text);
  } catch (err) {
    const { message } = err as Error;
    throw new HubError('SQL_REJECTED', `The query is not valid JSON: ${reasonOf(message)}.`, {
      stage: 'prepare',
      retryable: false,
      sql: lineAndColumn(text, offsetOf(message, text)),
    });
  }
  if (!isObject(parsed))
    throw reject('The query', 'must be one JSON object, a command such as {"find": "orders"}');
  refuseDuplicates(text);
  return parsed;
}

/** JSON.parse keeps the last one. The text must be valid JSON. */
function refuseDuplicates(text: string): void {
  /** The names so far of each open object: none, one or several; null for an array. */
  const levels: (Set<string> | string | undefined | null)[] = [];
  let isName = false;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i] as string;
    if (sign === '{' || sign === '[') levels.push(sign === '{' ? undefined : null);
    else if (sign === '}' || sign === ']') levels.pop();
    else if (sign === '"') {
      const start = i;
      i = endOfString(text, start);
      if (!isName) continue;
      const token = text.slice(start, i + 1);
      const name: string = JSON.parse(token);
      const names = levels.pop() ?? undefined;
      if (names === name || (names instanceof Set && names.has(name)))
        throw new HubError('SQL_REJECTED', `The query has the member ${token} twice in one object.`, {
          stage: 'prepare',
          retryable: false,
          sql: lineAndColumn(text, start),
        });
      levels.push(withName(names, name));
      isName = false;
    }
    if (sign === '{' || sign === ',') isName = levels.at(-1) !== null;
    else if (sign > ' ') isName = false;
  }
}

const wholeNumberName = /"\d+"\s*:/;
const textOrName = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;

/** The members that the parser moved: in an object, names that are whole numbers come first, in ascending order. */
function movedNames(text: string, parsed: Record<string, Value>): Set<string> {
  if (!wholeNumberName.test(text)) return new Set();
  const read = namesIn(toJsonText(parsed));
  return new Set(namesIn(text).filter((name, i) => name !== read[i]));
}

const namesIn = (json: string): string[] =>
  [...json.matchAll(textOrName)].flatMap(([token, colon]) =>
    colon === undefined ? [] : [JSON.parse(token.slice(0, -colon.length))],
  );

/** Nearly all objects of a large command have one member, so a set is made for the second one. */
const withName = (names: Set<string> | string | undefined, name: string): Set<string> | string => {
  if (names === undefined) return name;
  return names instanceof Set ? names.add(name) : new Set([names, name]);
};

/** Returns the parser's message without the part of the text that it quotes. */
const reasonOf = (message: string) => message.replace(/,? (in JSON at|at position|"|\.\.\.).*/s, '');

/**
 * Finds the position of an unexpected token, which V8 does not report: the end of the shortest prefix with that fault.
 */
function offsetOf(message: string, text: string): number {
  const position = / at position (\d+) \(line[^"]*$/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  let [good, bad] = [0, text.length + 1];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (endsTooEarly(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

function endsTooEarly(text: string): boolean {
  try {
    JSON.parse(text);
  } catch (err) {
    return !(err as Error).message.startsWith('Unexpected token');
  }
  return true;
}

function writeCommand(
  command: Record<string, Value>,
  name: string,
  { out, walker }: { out: TemplateWriter; walker: CommandWalker },
): void {
  const walks = fieldsOf(walker)[name] as Record<string, Walk>;
  const target = command[name];
  if (typeof target !== 'string' || !/^[^$\0]{1,255}$/.test(target)) {
    throw reject(below('', name), 'must be the name of a collection');
  }
  for (const required of requiredFields[name] ?? []) {
    if (!Object.hasOwn(command, required)) throw reject(below('', required), 'is missing');
  }
  out.object(command, '', (key, pointer) => {
    const walk = key === name ? walker.fixed : Object.hasOwn(walks, key) ? walks[key] : undefined;
    if (walk === undefined)
      throw reject(
        pointer,
        `is not an allowed field of ${name}. Allowed fields: ${Object.keys(walks).join(', ')}`,
      );
    walk(command[key] as Value, pointer);
  });
}

const requiredFields: Record<string, string[]> = {
  aggregate: ['pipeline'],
  distinct: ['key'],
  insert: ['documents'],
  update: ['updates'],
  delete: ['deletes'],
};

function fieldsOf(walker: CommandWalker): Record<string, Record<string, Walk>> {
  const { fixed, plain, filter, expression, pipeline, update } = walker;
  const shaped = (walks: Record<string, Walk>, what: string) => walker.listOf(walker.only(walks), what);
  return {
    find: {
      filter,
      projection: walker.written(expression),
      sort: walker.order,
      skip: plain,
      limit: plain,
      hint: fixed,
      min: walker.written(plain),
      max: walker.written(plain),
      collation: fixed,
      let: walker.written(expression),
      allowDiskUse: fixed,
    },
    aggregate: {
      pipeline,
      hint: fixed,
      collation: fixed,
      let: walker.written(expression),
      allowDiskUse: fixed,
    },
    count: { query: filter, skip: plain, limit: plain, hint: fixed, collation: fixed },
    distinct: { key: fixed, query: filter, hint: fixed, collation: fixed },
    insert: { documents: plain, ordered: fixed },
    update: {
      updates: shaped(
        {
          q: filter,
          u: update,
          // Constants: MongoDB evaluates none of them.
          c: walker.written(plain),
          multi: fixed,
          upsert: fixed,
          arrayFilters: walker.listOf(filter, 'filters'),
          collation: fixed,
          hint: fixed,
          sort: fixed,
        },
        'updates',
      ),
      ordered: fixed,
      let: walker.written(expression),
    },
    delete: {
      deletes: shaped({ q: filter, limit: fixed, collation: fixed, hint: fixed }, 'deletes'),
      ordered: fixed,
      let: walker.written(expression),
    },
  };
}

function unknownCommand(name: string): HubError {
  const known = [...commandVerbs.keys()].join(', ');
  return reject('The query', `begins with ${JSON.stringify(name)}. The hub runs these commands: ${known}`);
}

function mismatch(name: string, verb: string, command: string): HubError {
  return new HubError(
    'COMMAND_MISMATCH',
    `The query is ${name}, but the command is ${command}. Set the command to ${verb} if that is what you want to run.`,
    { stage: 'prepare', retryable: false },
  );
}
