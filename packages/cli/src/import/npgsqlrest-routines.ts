/** Functions and procedures whose comments are annotated → statements that call them. */

import type { QueryModel } from '../files/model.ts';
import { type Annotations, readAnnotations, toDefault } from './npgsqlrest-annotations.ts';
import { typeOfCast } from './plain-sql.ts';

export interface Routine {
  name: string;
  line: number;
  annotations: Annotations;
  text: string;
  context: QueryModel['context'];
  faults: string[];
}

const declaration =
  /\bcreate\s+(?:or\s+replace\s+)?(function|procedure)\s+((?:\w+\.)?\w+)\s*\(((?:[^()]|\([^()]*\))*)\)/gi;
const comment =
  /\bcomment\s+on\s+(?:function|procedure)\s+((?:\w+\.)?\w+)\s*(?:\([^)]*\))?\s*is\s*'((?:[^']|'')*)'/gi;

/** Undefined: the file declares none. */
export function readRoutines(text: string): Routine[] | undefined {
  const declared = [...text.matchAll(declaration)];
  if (declared.length === 0) return undefined;
  const texts = new Map(
    [...text.matchAll(comment)].map(([, name = '', inner = '']) => [name.toLowerCase(), inner]),
  );
  return declared.flatMap(({ 1: kind = '', 2: name = '', 3: list = '', index }) => {
    const annotated = texts.get(name.toLowerCase());
    // Without HTTP it is no endpoint.
    if (annotated === undefined || !/^\s*http\b/im.test(annotated)) return [];
    const line = text.slice(0, index).split('\n').length;
    return [{ name, line, annotations: readAnnotations(annotated.split('\n')), ...toCall(kind, name, list) }];
  });
}

function toCall(kind: string, name: string, list: string): Pick<Routine, 'text' | 'context' | 'faults'> {
  const faults: string[] = [];
  const context: QueryModel['context'] = [];
  const values: string[] = [];
  for (const part of list.split(/,(?![^()]*\))/).filter((one) => one.trim() !== '')) {
    const [head = '', fallback] = part.trim().split(/\s+default\s+|\s*=\s*/i);
    const words = head.replace(/^(?:in|variadic)\s+/i, '').split(/\s+/);
    if (/^(?:out|inout)$/i.test(words[0] ?? '')) continue;
    const [parameter = '', ...type] = words;
    if (type.length === 0) faults.push(`The parameter ${part.trim()} has no name.`);
    const sqlType = type.join(' ');
    const own = typeOfCast(`::${sqlType}`);
    if (
      fallback !== undefined &&
      !/^(?:null|'(?:[^']|'')*'|-?\d+(?:\.\d+)?|true|false)(?:::\w+)?$/i.test(fallback.trim())
    )
      faults.push(
        `The default ${fallback.trim()} of ${parameter} is computed, so it cannot be a default here.`,
      );
    const key = parameter.replace(/^_+/, '');
    context.push({
      key,
      ...(own === undefined ? {} : { type: own }),
      ...(fallback === undefined ? { required: true } : { value: toDefault(fallback.trim(), own) }),
    } as QueryModel['context'][number]);
    values.push(`${parameter} => :${key}${own === undefined ? `::${sqlType}` : ''}`);
  }
  const call = `${name}(${values.join(', ')})`;
  return {
    text: kind.toLowerCase() === 'procedure' ? `CALL ${call}` : `SELECT * FROM ${call}`,
    context,
    faults,
  };
}
