/** Keeps the secrets of a request's headers and the values in its URL out of a text that an operator's template makes of it. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

const secretHeaders = ['x-service-api-key', 'authorization', 'proxy-authorization', 'cookie'] as const;
/** Shorter parts, such as `Bearer`, occur in many texts. */
const partLengthMin = 8;

/** Searches for the values, because a template can read a header in many ways. */
export function withoutSecrets(text: string, headers: IncomingHttpHeaders): string {
  const values = secretHeaders.flatMap((name) => {
    const value = headers[name];
    if (value === undefined || value.length === 0) return [];
    const whole = String(value);
    return [whole, ...whole.split(/[\s,;=]+/).filter((part) => part.length >= partLengthMin)];
  });
  // JSON escapes quotes and backslashes.
  const written = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
  return written.reduce((left, value) => left.replaceAll(value, '[hidden]'), text);
}

/** What Express derives from the URL, or caches of it. */
type Routed = IncomingMessage &
  Partial<Record<'originalUrl' | 'query' | '_parsedUrl' | '_parsedOriginalUrl', unknown>>;

/**
 * Calls `read`, which must not keep the request, while the request has no query string. Values in it can be as short as
 * one digit, so they cannot be searched for in the text.
 */
export function withoutQuery<T>(request: IncomingMessage, read: () => T): T {
  const routed = request as Routed;
  const { url, originalUrl, query, _parsedUrl, _parsedOriginalUrl } = routed;
  routed.url = pathOf(url);
  routed.originalUrl = pathOf(originalUrl);
  routed.query = {};
  routed._parsedUrl = undefined;
  routed._parsedOriginalUrl = undefined;
  try {
    return read();
  } finally {
    Object.assign(routed, { url, originalUrl, query, _parsedUrl, _parsedOriginalUrl });
  }
}

const pathOf = (url: unknown): string => String(url ?? '').split('?', 1)[0] as string;
