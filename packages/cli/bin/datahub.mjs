#!/usr/bin/env node
// In the repository the sources run, with the commands for operators. The packed package contains only the bundle.
import { existsSync } from 'node:fs';

const program = ['../../../services/hub/src/cli.ts', '../dist/datahub.js']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));
if (program === undefined) {
  // `npm pack` alone does not build, because the project runs no script of a package.
  console.error('This package lacks its program. Pack it with `npm run pack -w packages/cli`.');
  process.exit(1);
}
if (program.pathname.endsWith('.ts')) (await import('../../service-kit/require-node.mjs')).requireNode();
await import(program.href);
