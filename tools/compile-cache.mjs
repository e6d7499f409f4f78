/**
 * Preloaded by the start scripts: keeps what Node made of our TypeScript, so that a later start neither strips types nor
 * compiles again, and never loads the stripper. Where the folder cannot be written Node goes on without.
 */

import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(fileURLToPath(new URL('../.cache/compile', import.meta.url)));
