/** Keeps the secrets of a request's headers out of a text that an operator's template made of the request. */

import type { IncomingHttpHeaders } from 'node:http';

const secretHeaders = ['x-service-api-key', 'authorization', 'proxy-authorization', 'cookie'] as const;
/** Shorter parts, such as `Bearer`, stand in many texts. */
const partLengthMin = 8;

/** Looks for the values rather than for the names, since a template reaches them by many ways. */
export function withoutSecrets(text: string, headers: IncomingHttpHeaders): string {
  const values = secretHeaders.flatMap((name) => {
    const value = headers[name];
    if (value === undefined || value.length === 0) return [];
    const whole = String(value);
    return [whole, ...whole.split(/[\s,;=]+/).filter((part) => part.length >= partLengthMin)];
  });
  // In JSON, quotes and backslashes of a value are escaped.
  const written = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
  return written.reduce((left, value) => left.replaceAll(value, '[hidden]'), text);
}
