/** Functions and procedures whose comments are annotated → statements that call them. */

import type { QueryModel } from '../files/model.ts';
import { type Annotations, readAnnotations, toDefault } from './npgsqlrest-annotations.ts';
import { typeOfCast } from './plain-sql.ts';
import { Refusal } from './text-conversion.ts';

export interface Routine {
  name: string;
  line: number;
  annotations: Annotations;
  text: string;
  context: QueryModel['context'];
  /** The parameters that a caller fills, with their types. */
  parameters: { name: string; type: string }[];
  faults: string[];
}

const word = String.raw`(?:"(?:[^"]|"")+"|\w+)`;
const named = String.raw`((?:${word}\s*\.\s*)?${word})`;
const declaration = new RegExp(
  String.raw`\bcreate\s+(?:or\s+replace\s+)?(function|procedure)\s+${named}\s*\(((?:[^()]|\([^()]*\))*)\)`,
  'gi',
);
const comment = new RegExp(
  String.raw`\bcomment\s+on\s+(?:function|procedure)\s+${named}\s*(?:\([^)]*\))?\s*is\s*(?:'((?:[^']|'')*)'|e'((?:[^'\\]|''|\\.)*)')`,
  'gis',
);

/** Undefined: the file declares none. */
export function readRoutines(text: string): Routine[] | undefined {
  const declared = [...text.matchAll(declaration)];
  if (declared.length === 0) return undefined;
  const lineOf = (index: number) => text.slice(0, index).split('\n').length;
  const comments = [...text.matchAll(comment)].map(({ 1: name = '', 2: plain, 3: escaped = '', index }) => ({
    ...{ name, line: lineOf(index) },
    text: (plain ?? escaped.replaceAll(/\\(.)/gs, (_, one) => escapes[one] ?? one)).replaceAll("''", "'"),
  }));
  const texts = new Map(comments.map(({ name, text }) => [keyOf(name), text]));
  const names = declared.map(({ 2: name = '' }) => keyOf(name));
  const elsewhere = comments.filter(({ name, text }) => !names.includes(keyOf(name)) && isEndpoint(text));
  const missing = elsewhere.map(({ name, line, text }) => ({
    ...{ name, line, annotations: readAnnotations(text.split('\n')), text: '', context: [], parameters: [] },
    faults: [`The file has no CREATE of ${name}, so its parameters are not known.`],
  }));
  const found = declared.flatMap(({ 1: kind = '', 2: name = '', 3: list = '', index }) => {
    const annotated = texts.get(keyOf(name));
    if (annotated === undefined || !isEndpoint(annotated)) return [];
    const routine = { name, line: lineOf(index), annotations: readAnnotations(annotated.split('\n')) };
    const call = toCall(kind, name, list);
    if (/^\s*(?:for|tags?)\b/im.test(annotated))
      call.faults.push('Its annotations depend on tags. Leave those that hold for it, without the tags.');
    if (names.filter((one) => one === keyOf(name)).length > 1)
      call.faults.push(`Several functions have the name ${name}, and it is not known which is the endpoint.`);
    return [{ ...routine, ...call }];
  });
  return [...found, ...missing];
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
const isEndpoint = (annotated: string): boolean => /^\s*http\b/im.test(annotated);

/** Names without quotes are the same in any case. */
const keyOf = (name: string): string =>
  (name.match(new RegExp(word, 'g')) ?? [])
    .map((one) => (one.startsWith('"') ? one : `"${one.toLowerCase()}"`))
    .join('.')
    .replace(/^"public"\./, '');

function toCall(
  kind: string,
  name: string,
  list: string,
): Pick<Routine, 'text' | 'context' | 'parameters' | 'faults'> {
  const faults: string[] = [];
  const context: QueryModel['context'] = [];
  const values: string[] = [];
  const parameters: Routine['parameters'] = [];
  for (const part of list.split(/,(?![^()]*\))/).filter((one) => one.trim() !== '')) {
    const [head = '', fallback] = part.trim().split(/\s+default\s+|\s*=\s*/i);
    const words = head.replace(/^(?:in|inout|variadic)\s+/i, '').split(/\s+/);
    if (/^out$/i.test(words[0] ?? '')) {
      // CALL has an argument for each, too.
      if (kind.toLowerCase() === 'procedure') values.push(`${words[1]} => NULL`);
      continue;
    }
    const [parameter = '', ...type] = words;
    if (parameter.includes('"')) faults.push(`The parameter ${parameter} has a name in quotes.`);
    if (type.length === 0) faults.push(`The parameter ${part.trim()} has no name.`);
    const sqlType = type.join(' ');
    const own = typeOfCast(`::${sqlType}`);
    if (
      fallback !== undefined &&
      !/^(?:null|'(?:[^']|'')*'|-?\d+(?:\.\d+)?|true|false)(?:::\w+(?:\[\])?)?$/i.test(fallback.trim())
    )
      faults.push(
        `The default ${fallback.trim()} of ${parameter} is computed, so it cannot be a default here.`,
      );
    const key = parameter.replace(/^_+/, '');
    const value = fallback === undefined ? undefined : defaultOf(fallback.trim(), own, faults);
    context.push({
      key,
      ...(own === undefined ? {} : { type: own }),
      ...(fallback === undefined ? { required: true } : { value }),
    } as QueryModel['context'][number]);
    parameters.push({ name: parameter, type: sqlType });
    values.push(`${parameter} => :${key}${own === undefined ? `::${sqlType}` : ''}`);
  }
  const call = `${name}(${values.join(', ')})`;
  return {
    text: kind.toLowerCase() === 'procedure' ? `CALL ${call}` : `SELECT * FROM ${call}`,
    context,
    parameters,
    faults,
  };
}

function defaultOf(text: string, type: string | undefined, faults: string[]): unknown {
  try {
    return toDefault(text, type);
  } catch (err) {
    if (!(err instanceof Refusal)) throw err;
    faults.push(err.message);
    return undefined;
  }
}
