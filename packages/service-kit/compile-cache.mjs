import { fileURLToPath } from 'node:url';

/** Where a program keeps its stripped and compiled code between starts. Images keep none: they are read-only. */
export const compileCache =
  process.env.NODE_ENV === 'production'
    ? undefined
    : fileURLToPath(new URL('../../.cache/compile', import.meta.url));
