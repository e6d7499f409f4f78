/** The annotations in comments of NpgsqlRest, such as `@param $1 region text default null`. */

import { parseExact } from '../exact-numbers.ts';
import { numberOf } from './literals.ts';
import { typeOfCast } from './plain-sql.ts';
import { Refusal } from './text-conversion.ts';

export interface Parameter {
  name: string;
  type?: string;
  /** A type that the hub does not name, which is written into the text. */
  cast?: string;
  /** As it is written. */
  fallback?: string;
}

export interface Annotations {
  method?: string;
  path?: string;
  cacheS?: number;
  tool?: string;
  /** By the placeholder, `$1` or the name. */
  parameters: Map<string, Parameter>;
  /** Names in lower case before `=`. One of a parameter has its value from the expression. */
  assigned: Set<string>;
  /** What a query of the hub cannot do. */
  faults: string[];
  /** What changes for callers. */
  notes: string[];
}

/** Each has its values from elsewhere than from the caller, or answers something else than the rows. */
const impossible: Readonly<Record<string, string>> = {
  ...{ usercontext: 'claims', userparameters: 'claims', userparams: 'claims' },
  ...{
    login: 'a log-in',
    signin: 'a log-in',
    logout: 'a log-in',
    signout: 'a log-in',
    basicauth: 'a log-in',
  },
  ...{ upload: 'an upload', proxy: 'a proxy', proxyout: 'a proxy' },
  ...{ encrypt: 'encryption', decrypt: 'encryption' },
  ...{ sse: 'server-sent events', ssepath: 'server-sent events' },
  ...{ bodyparametername: 'the whole body', bodyparamname: 'the whole body' },
  ...{ requestheadersparametername: 'headers', requestheadersparamname: 'headers' },
  ...{ requestheadersmode: 'headers', requestheaders: 'headers' },
  ...{ returns: 'a type of its own', void: 'no answer' },
};
const shaping: ReadonlySet<string> = new Set([
  ...['single', 'raw', 'separator', 'newline', 'columns', 'columnnames', 'tableformat', 'nested', 'parse'],
  'parseresponse',
]);

export function readAnnotations(lines: readonly string[]): Annotations {
  const found: Annotations = { parameters: new Map(), assigned: new Set(), faults: [], notes: [] };
  for (const line of lines) {
    const [, word = '', rest = ''] = /^\s*(?:--)?\s*@?([A-Za-z_-]+)\b\s*(.*?)\s*$/.exec(line) ?? [];
    readAnnotation(word.toLowerCase(), rest, found);
    const [, assigned, select] = /^\s*(?:--)?\s*@?(\w+)\s*=\s*(?:(select\b)|\S)/i.exec(line) ?? [];
    if (assigned !== undefined) found.assigned.add(assigned.toLowerCase());
    if (select !== undefined) found.faults.push(faultOfAssigned);
  }
  return found;
}

export const faultOfAssigned =
  'A parameter that NpgsqlRest resolves with a statement. Join it into the text.';

function readAnnotation(written: string, rest: string, found: Annotations): void {
  const word = written.replaceAll(/[-_]/g, '');
  if (word === 'http') {
    const [, method, path] = /^(GET|POST|PUT|DELETE|QUERY)?\s*(\/\S*)?/i.exec(rest) ?? [];
    if (method !== undefined) found.method = method.toUpperCase();
    if (path !== undefined) found.path = path;
    if (path?.includes('{')) found.notes.push(`The parameters of the path ${path} are ordinary variables.`);
  } else if (word === 'path' && rest.startsWith('/')) found.path = rest;
  else if (word === 'param' || word === 'parameter') readParameter(rest, found);
  else if (/^cacheexpires(?:in)?$/.test(word)) readCache(rest, found);
  else if (word === 'cached' && found.cacheS === undefined)
    found.notes.push('It was cached. Set cache if no cache_expires did.');
  else if (/^(?:authorized?|requiresauthorization)$/.test(word))
    found.notes.push(
      `It needed ${rest === '' ? 'a signed-in user' : `the roles ${rest}`}. Limit the keys that may run it.`,
    );
  else if (/^mcp(?:description)?$/.test(word) && rest !== '') found.tool = rest;
  else if (word === 'mcp') found.notes.push('It was a tool without a description. Set tool to one.');
  else if (word === 'validate')
    found.notes.push(`It checked ${rest}. The types of the variables do that here, or the text.`);
  else if (shaping.has(word)) found.notes.push(`@${written} gave the answer another form. Here it has rows.`);
  else if (word === 'disabled') found.faults.push('The endpoint is disabled.');
  else if (/^internal(?:only)?$/.test(word) && rest === '')
    found.faults.push('The endpoint is internal: only other endpoints call it.');
  else if (/^connection(?:name)?$/.test(word) && /^\S+$/.test(rest))
    found.notes.push(`It ran at the connection ${rest}. Here it has the source of the other queries.`);
  else if (impossible[word] !== undefined && rest.length < 60 && rest !== 'ignore')
    found.faults.push(`@${written} needs ${impossible[word]}, which a query of the hub does not have.`);
}

function readCache(interval: string, found: Annotations): void {
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
  const [, count, unit = ''] = /^(\d+)\s*(s|m|h|d)/.exec(interval) ?? [];
  if (count !== undefined) found.cacheS = Number(count) * (units[unit] as number);
  found.notes = found.notes.filter((note) => !note.startsWith('It was cached'));
}

function readParameter(rest: string, found: Annotations): void {
  if (/\bis hash of\b|\bupload metadata\b/.test(rest)) {
    found.faults.push(`@param ${rest} needs a value that the caller does not send.`);
    return;
  }
  // Without a value it is null.
  const [, head = rest, given] = /^(.*?)\s+default(?:\s+(.*))?$/.exec(rest) ?? [];
  const fallback = head === rest ? undefined : (given ?? 'null');
  const words = head
    .replace(/\btype is\b/, 'type:')
    .split(/\s+/)
    .filter((word) => word !== 'is');
  const [placeholder = '', second, third] = words;
  const wanted = placeholder.replace(/^:/, '');
  // After `$1 region`, it may be called region.
  const key = [...found.parameters].find(([, one]) => one.name === wanted)?.[0] ?? wanted;
  const isType = second === 'type:';
  const isRename = second !== undefined && !isType && (placeholder.startsWith('$') || third !== undefined);
  const type = isType || isRename ? third : second;
  const known = found.parameters.get(key) ?? { name: key.startsWith('$') ? `p${key.slice(1)}` : key };
  const named: Parameter = isRename ? { ...known, name: second as string } : known;
  const own = type === undefined ? undefined : typeOfCast(`::${type}`);
  found.parameters.set(key, {
    ...named,
    ...(type === undefined ? {} : own === undefined ? { cast: type } : { type: own }),
    ...(fallback === undefined ? {} : { fallback: fallback.trim() }),
  });
}

/** The value of a default in an annotation or a declaration. */
export function toDefault(text: string, type: string | undefined): unknown {
  if (/^null(?:::\w+(?:\[\])?)?$/i.test(text)) return null;
  const [, quoted, plain = text] = /^(?:'((?:[^']|'')*)'|([-+.\w]+))(?:::\w+(?:\[\])?)?$/.exec(text) ?? [];
  const value = quoted?.replaceAll("''", "'") ?? plain;
  if (type === 'json') return jsonOf(value);
  if (type?.endsWith('[]') === true && value.trim() === '{}') return [];
  if (type?.endsWith('[]') === true) throw new Refusal(`The default ${text} of a list is not converted.`);
  if (type !== 'boolean')
    return ['integer', 'bigint', 'decimal', 'number'].includes(type ?? '') ? numberOf(value).value : value;
  if (!/^(?:true|false|[tfyn01]|yes|no|on|off)$/i.test(value))
    throw new Refusal(`The default ${text} is neither true nor false.`);
  return /^(?:true|[ty1]|yes|on)$/i.test(value);
}

function jsonOf(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    throw new Refusal(`The default ${text} is no JSON.`);
  }
}
