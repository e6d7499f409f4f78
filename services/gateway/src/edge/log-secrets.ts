/** Removes the secrets of a request's headers from a text that an operator's template made of the request. */

import type { IncomingHttpHeaders } from 'node:http';

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
