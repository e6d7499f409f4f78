import { fileURLToPath } from 'node:url';

/**
 * Where a program keeps its stripped and compiled code between starts. Images bring it along (fill-compile-cache.mjs) and
 * cannot write to it; Node then goes on without.
 */
export const compileCache = fileURLToPath(new URL('../../.cache/compile', import.meta.url));
