/** The command line in the repository and in images: `npm run datahub --`, `npx datahub`, or `node services/hub/src/cli.ts`. */

import { enableCompileCache } from 'node:module';
import { compileCache } from '../../../packages/service-kit/compile-cache.mjs';

// Only what is loaded after this is cached: a command then takes a third of the CPU.
enableCompileCache(compileCache);
await import('./command-line.ts');
