/** Addresses and CIDR ranges in settings. */

import { isIP } from 'node:net';

/** True for an IP address, alone or with a prefix length that is valid for its family. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix = '0', ...rest] = text.split('/');
  const family = isIP(address);
  const bitsMax = family === 4 ? 32 : 128;
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsMax;
}
