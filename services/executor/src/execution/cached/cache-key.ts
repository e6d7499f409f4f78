/** The key of an answer in the result cache, and its ETag. */

import { createHmac, hash, randomBytes } from 'node:crypto';
import type { FormatName } from '@datahub/contract/formats';
import type { Numbers } from '@datahub/contract/numbers';
import type { QueryDefinition } from '../../definitions/definition.ts';
import type { Param, Statement } from '../../ports/engine.ts';

/** Everything that an answer depends on, apart from the data. */
export interface CacheKeyParts {
  query: QueryDefinition;
  statement: Pick<Statement, 'key' | 'text' | 'params'>;
  /** The variables that the caller's API key pins, as JSON. */
  pinnedJson: string;
  /** The lowest of the limits of the call, the API key and the hub. */
  maxRows: number | undefined;
  format: FormatName;
  numbers: Numbers;
}

/**
 * Returns a digest, so that no key reveals a value. Each part has a length prefix, so that different parts never
 * collide.
 */
export function toCacheKey(parts: CacheKeyParts): string {
  const { query, statement, pinnedJson, maxRows, format, numbers } = parts;
  const { source } = query;
  let text = '';
  const add = (part: string) => {
    // In UTF-8, each lone surrogate would become U+FFFD, so different texts would collide.
    const exact = part.isWellFormed() ? part : JSON.stringify(part);
    text += `${exact.length}${exact === part ? ':' : '!'}${exact}`;
  };
  add(query.accountId);
  add(query.queryId);
  add(String(query.versionNumber));
  add(JSON.stringify(query.cache ?? null));
  add(source.sourceId);
  add(source.settingsVersion);
  add(format);
  add(numbers);
  add(String(maxRows));
  add(pinnedJson);
  add(statement.key);
  // A MongoDB command contains its values. An SQL text follows from the version of the query and the statement's key.
  if (source.engine === 'mongodb') add(statement.text);
  for (const param of statement.params) add(toText(param));
  return hash('sha256', text, 'base64url');
}

/** Includes the type, because 1 and "1" can be different values. */
function toText(param: Param): string {
  if (param === null) return 'null';
  if (typeof param === 'object') return `decimal ${param.decimal}`;
  return `${typeof param} ${Object.is(param, -0) ? '-0' : param}`;
}

export const etagLength = 32;

/** Creates ETags with a keyed MAC. With a plain hash, a caller could confirm a guess of an answer's content. */
export function createTagger(secret = randomBytes(32)): (key: string, answer: Buffer) => string {
  return (key, answer) =>
    createHmac('sha256', secret).update(key).update(answer).digest('hex').slice(0, etagLength);
}
