/**
 * A stored command of MongoDB → the Extended JSON that is run. The words are the server's own (`find`, `aggregate`, …);
 * what a command may say besides is listed, so that nothing else slips through.
 */

import { describeFaults, type FieldFault, fieldName } from '@datahub/contract/validation-error';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import type { CompiledStatement, StatementKind } from '../sql/compile.ts';
import { lineAndColumn } from '../sql/lexer.ts';
import { declare, faultsMax, parseValue, resolveValues, type Value } from '../values.ts';
import { type Misfit, valueText } from './extended-json.ts';
import { isObject, Positions, type Walk } from './positions.ts';
import { below, refuse, TemplateWriter } from './template.ts';

/** The hub's word for what each command does. */
const verbs = new Map([
  ['find', 'SELECT'],
  ['aggregate', 'SELECT'],
  ['count', 'SELECT'],
  ['distinct', 'SELECT'],
  ['insert', 'INSERT'],
  ['update', 'UPDATE'],
  ['delete', 'DELETE'],
]);

/** The command that goes with a text, for those who leave it out. */
export function verbOf(text: string): string | undefined {
  try {
    return verbs.get(Object.keys(JSON.parse(text))[0] ?? '');
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
  const verb = verbs.get(name);
  if (verb === undefined) throw unknownCommand(name);
  if (options.command !== verb && options.command !== name.toUpperCase())
    throw mismatch(name, verb, options.command);
  const out = new TemplateWriter((key) => declared.has(key));
  writeCommand(command, name, out);
  const { pieces, places } = out.template;
  const names = [...new Set(places.map(({ variable }) => variable))];
  const numbers = new Map(names.map((key, number) => [key, number]));
  const declarations = names.map((key) => declare(key, declared.get(key)));
  const known = new Set([...names, ...declared.keys()]);
  const kind: StatementKind = verb === 'SELECT' ? 'read' : 'standalone';

  const write = (values: Value[]) => {
    const faults: FieldFault[] = [];
    const texts = places.map(({ variable, form }) => {
      const i = numbers.get(variable) as number;
      const written = valueText(values[i] ?? null, form, declarations[i]?.type);
      if (typeof written === 'string') return written;
      faults.push({ path: ['context', variable], detail: (written as Misfit).detail });
      return '';
    });
    if (faults.length > 0) throw unfit(faults);
    const run = pieces.map((piece, i) => piece + (texts[i] ?? '')).join('');
    return { key: '', text: run, params: [] };
  };
  return {
    kind,
    verb,
    uncounted: false,
    variables: names,
    bind: (given) => write(resolveValues(declarations, given, known)),
    describable: () => ({ ...write(names.map(() => null)), placeholders: names }),
    toStored: (_run, fault) => fault,
  };
}

function parseCommand(text: string): Record<string, Value> {
  let parsed: Value;
  try {
    parsed = parseValue(text);
  } catch (err) {
    const { message } = err as Error;
    throw new HubError('SQL_REJECTED', `The query is no JSON: ${reasonOf(message)}.`, {
      stage: 'prepare',
      retryable: false,
      sql: lineAndColumn(text, placeOf(message, text)),
    });
  }
  if (!isObject(parsed))
    throw refuse('The query', 'must be one JSON object, a command such as {"find": "orders"}');
  return parsed;
}

/** Without the piece of the text that the message quotes. */
const reasonOf = (message: string) => message.replace(/,? (in JSON at|at position|"|\.\.\.).*/s, '');

/** The parser says no place for a token that it does not expect: the shortest beginning that has this fault ends there. */
function placeOf(message: string, text: string): number {
  const said = / at position (\d+) \(line[^"]*$/.exec(message)?.[1];
  if (said !== undefined) return Number(said);
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

function writeCommand(command: Record<string, Value>, name: string, out: TemplateWriter): void {
  const at = new Positions(out);
  const walks = fieldsOf(at)[name] as Record<string, Walk>;
  const target = command[name];
  if (typeof target !== 'string' || !/^[^$\0]{1,255}$/.test(target)) {
    throw refuse(below('', name), 'must be the name of a collection');
  }
  for (const required of requiredFields[name] ?? []) {
    if (!Object.hasOwn(command, required)) throw refuse(below('', required), 'is missing');
  }
  out.object(command, '', (key, pointer) => {
    const walk = key === name ? at.fixed : Object.hasOwn(walks, key) ? walks[key] : undefined;
    if (walk === undefined)
      throw refuse(
        pointer,
        `is no field of ${name} that the hub passes on. It passes on: ${Object.keys(walks).join(', ')}`,
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

function fieldsOf(at: Positions): Record<string, Record<string, Walk>> {
  const { fixed, plain, filter, expression, pipeline, update } = at;
  const shaped = (walks: Record<string, Walk>, what: string) => at.listOf(at.only(walks), what);
  return {
    find: {
      filter,
      projection: at.written(expression),
      sort: at.written(plain),
      skip: plain,
      limit: plain,
      hint: fixed,
      min: at.written(plain),
      max: at.written(plain),
      collation: fixed,
      let: at.written(expression),
      allowDiskUse: fixed,
    },
    aggregate: { pipeline, hint: fixed, collation: fixed, let: at.written(expression), allowDiskUse: fixed },
    count: { query: filter, skip: plain, limit: plain, hint: fixed, collation: fixed },
    distinct: { key: fixed, query: filter, hint: fixed, collation: fixed },
    insert: { documents: plain, ordered: fixed },
    update: {
      updates: shaped(
        {
          q: filter,
          u: update,
          c: at.written(expression),
          multi: fixed,
          upsert: fixed,
          arrayFilters: at.listOf(filter, 'filters'),
          collation: fixed,
          hint: fixed,
          sort: fixed,
        },
        'updates',
      ),
      ordered: fixed,
      let: at.written(expression),
    },
    delete: {
      deletes: shaped({ q: filter, limit: fixed, collation: fixed, hint: fixed }, 'deletes'),
      ordered: fixed,
      let: at.written(expression),
    },
  };
}

function unknownCommand(name: string): HubError {
  const known = [...verbs.keys()].join(', ');
  return refuse(
    'The query',
    `begins with ${JSON.stringify(name)}, which is none of the commands that the hub runs: ${known}`,
  );
}

function mismatch(name: string, verb: string, command: string): HubError {
  return new HubError(
    'COMMAND_MISMATCH',
    `The query is ${name}, but the command is ${command}. Set the command to ${verb} if that is what it should do.`,
    { stage: 'prepare', retryable: false },
  );
}

function unfit(faults: FieldFault[]): HubError {
  return new HubError(
    'CONTEXT_INVALID',
    describeFaults(faults, ({ path }) => fieldName(path)),
    {
      errors: faults.slice(0, faultsMax),
      stage: 'prepare',
      retryable: false,
    },
  );
}
