/** The key of an answer in the result cache, and its ETag. */

import { createHmac, hash, randomBytes } from 'node:crypto';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { Param, Statement } from '../engine.ts';
import type { RowFormat } from '../row-sink.ts';

/** All that an answer depends on, apart from the data. */
export interface CacheKeyParts {
  query: QueryDefinition;
  statement: Pick<Statement, 'key' | 'text' | 'params'>;
  /** JSON of the variables that the key of the caller sets. */
  pinnedJson: string;
  /** The least of the limits of the call, the key and the hub. */
  maxRows: number | undefined;
  format: RowFormat;
  numbers: 'auto' | 'string';
}

/** A digest: no key reveals a value. Each part is written with its length, so that no two lists of parts are the same text. */
export function toCacheKey(parts: CacheKeyParts): string {
  const { query, statement, pinnedJson, maxRows, format, numbers } = parts;
  const { source } = query;
  let text = '';
  const add = (part: string) => {
    // Invalid UTF-16 would become U+FFFD, as other invalid text does.
    const exact = part.isWellFormed() ? part : JSON.stringify(part);
    text += `${exact.length}${exact === part ? ':' : '!'}${exact}`;
  };
  add(query.accountId);
  add(query.queryId);
  add(String(query.version));
  add(source.sourceId);
  add(source.settingsVersion);
  add(format);
  add(numbers);
  add(String(maxRows));
  add(pinnedJson);
  add(statement.key);
  // A command of MongoDB contains its values. A text of SQL follows from the version and the key of the statement.
  if (source.engine === 'mongodb') add(statement.text);
  for (const param of statement.params) add(toText(param));
  return hash('sha256', text, 'base64url');
}

/** With its type, since 1 and "1" can be different values. */
function toText(param: Param): string {
  if (param === null) return 'null';
  if (typeof param === 'object') return `decimal ${param.decimal}`;
  return `${typeof param} ${Object.is(param, -0) ? '-0' : param}`;
}

export const etagLength = 32;

/** A keyed MAC: with a plain hash, a caller could confirm a guess of what an answer contains. */
export function createTagger(secret = randomBytes(32)): (key: string, answer: Buffer) => string {
  return (key, answer) =>
    createHmac('sha256', secret).update(key).update(answer).digest('hex').slice(0, etagLength);
}
