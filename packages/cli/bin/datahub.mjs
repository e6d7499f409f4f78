#!/usr/bin/env node
// In the repository the sources run, with the commands for operators. The packed package contains only the bundle.
import { existsSync } from 'node:fs';

const source = new URL('../../hub/src/cli.ts', import.meta.url);
await import(existsSync(source) ? source.href : new URL('../dist/datahub.js', import.meta.url).href);
