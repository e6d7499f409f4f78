/**
 * A cache of principals, bounded by count and by memory: the limits of one key can take 200 KB. The entry that was used least
 * recently is dropped first.
 */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { LRUCache } from 'lru-cache';

const bytesMax = 32 * 1_048_576;

export const createPrincipalCache = <E extends { principal: Principal }>(max: number) =>
  new LRUCache<string, E>({
    max,
    maxSize: bytesMax,
    sizeCalculation: ({ principal }) => bytesOf(principal),
  });

/** About the memory that a value takes. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 24;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce((bytes: number, member) => bytes + bytesOf(member) + 8, 32);
}
