import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../src/one-process.ts', import.meta.url));
const script = `
  import Module from 'node:module';
  await import(${JSON.stringify(program)});
  console.log(JSON.stringify([...process.moduleLoadList, ...Object.keys(Module._cache)]));`;

/** Each of them costs a tenth of the start, and memory. */
it('loads no driver with the hub, and not undici', { timeout: 60_000 }, async () => {
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
  const loaded: string[] = JSON.parse(stdout);
  expect(loaded.some((module) => module.includes('/node_modules/fastify/'))).toBe(true);
  const lazy = /undici|\/node_modules\/(?:mongodb|bson|pg|mysql2|express-gateway)\//;
  expect(loaded.filter((module) => lazy.test(module))).toEqual([]);
});
