/** The key of an answer in the result cache, and its ETag. */

import { createHmac, hash, randomBytes } from 'node:crypto';
import type { CsvOptions, FormatName } from '@datahub/contract/formats';
import type { Numbers } from '@datahub/contract/numbers';
import type { QueryDefinition } from '../../definitions/definition.ts';
import type { Param, Statement } from '../../ports/engine.ts';

/** Everything that an answer depends on, apart from the data. */
export interface CacheKeyParts {
  query: QueryDefinition;
  statement: Pick<Statement, 'key' | 'text' | 'params' | 'untyped' | 'session'>;
  /** The variables that the caller's API key pins, as JSON. */
  pinnedJson: string;
  /** The lowest of the limits of the call, the API key and the hub. */
  maxRows: number | undefined;
  format: FormatName;
  numbers: Numbers;
  csv: CsvOptions | undefined;
}

/**
 * Returns digests, so that no key reveals a value. Each part has a length prefix, so that different parts never
 * collide. What all calls of a query share is digested once.
 */
export function createCacheKeys(): (parts: CacheKeyParts) => string {
  // A changed definition is a new object.
  const digests = new WeakMap<QueryDefinition, string>();
  return ({ query, statement, pinnedJson, maxRows, format, numbers, csv }) => {
    let digest = digests.get(query);
    if (digest === undefined) {
      digest = digestOf(query);
      digests.set(query, digest);
    }
    let text = digest + prefixed(format) + prefixed(numbers) + prefixed(String(maxRows));
    text += prefixed(csv === undefined ? '' : JSON.stringify(csv));
    text += prefixed(pinnedJson) + prefixed(statement.key);
    // A MongoDB command contains its values. An SQL text follows from the version of the query and the statement's key.
    if (query.source.engine === 'mongodb') text += prefixed(statement.text);
    for (const param of statement.params) text += prefixed(toText(param));
    // A list or an object can have another effect than its JSON as a string.
    for (const { index } of statement.untyped ?? []) text += prefixed(String(index));
    // Rows can depend on each of them, as those of a signed-in user do.
    for (const setting of statement.session ?? []) for (const part of setting) text += prefixed(part);
    return hash('sha256', text, 'base64url');
  };
}

function digestOf({ accountId, queryId, versionNumber, cache, source }: QueryDefinition): string {
  const parts = [accountId, queryId, String(versionNumber), JSON.stringify(cache ?? null)];
  const text = [...parts, source.sourceId, source.settingsVersion].map(prefixed).join('');
  return hash('sha256', text, 'base64url');
}

function prefixed(part: string): string {
  // In UTF-8, each lone surrogate would become U+FFFD, so different texts would collide.
  return part.isWellFormed() ? `${part.length}:${part}` : prefixedEscapes(JSON.stringify(part));
}

const prefixedEscapes = (escaped: string): string => `${escaped.length}!${escaped}`;

/** Includes the type, because 1 and "1" can be different values. */
function toText(param: Param): string {
  if (param === null) return 'null';
  if (typeof param === 'object') return `decimal ${param.decimal}`;
  return `${typeof param} ${Object.is(param, -0) ? '-0' : param}`;
}

export const etagLength = 32;

/**
 * Creates ETags with a keyed MAC. With a plain hash, a caller could confirm a guess of an answer's content. A CSV that a
 * limit has cut may have the bytes of a complete one, and only its trailer says so.
 */
export function createTagger(secret = randomBytes(32)) {
  return (key: string, answer: Buffer, truncated: boolean): string =>
    createHmac('sha256', secret)
      .update(`${truncated ? 'cut' : 'whole'} ${key}`)
      .update(answer)
      .digest('hex')
      .slice(0, etagLength);
}
