/** Checks the names and addresses of servers. */

import { isIP } from 'node:net';
import { sourceLimits } from '@datahub/contract/limits';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { Checker } from '../check.ts';

const { hostLength } = sourceLimits;
const hostShape = new RegExp(`^[\\p{L}\\p{N}._%-]{${hostLength.min},${hostLength.max}}$`, 'u');

/** Checks the syntax. The executor checks at each connection whether the address is allowed. */
export function checkHost(check: Checker, text: string, path: FieldPath): string {
  const host = text.trim();
  if (!hostShape.test(host) && isIP(host) !== 6) {
    check.fault(path, 'must be a host name or an IP address, without a port or brackets');
  }
  return host;
}
