/**
 * PyArrow, Polars and DuckDB, which read Arrow streams in tests.
 *
 *     node tools/arrow-readers.ts   installs them, unless they are installed
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pythonPackage } from './python-package.ts';

/** DuckDB needs pytz for instants. */
const readers = pythonPackage('pyarrow', '26.0.1', [
  'polars==2.1.0',
  'duckdb==2.0.0',
  'pandas==3.1.1',
  'pytz==2026.1',
]);
const program = fileURLToPath(new URL('arrow-readers.py', import.meta.url));

export const canReadArrow = (): boolean => readers.isInstalled(process.env);

/** The environment of Python programs that import the readers. */
export const arrowEnv = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => readers.env(env);

/** A value of a type that JSON lacks is an object with the type as its member. */
export type ReadValue = null | boolean | string | { [type: string]: string | number };

/** The rows of a stream, by reader. Throws what a reader reports. */
export function readArrow(stream: Buffer): Record<'pyarrow' | 'polars' | 'duckdb', ReadValue[][]> {
  const options = { input: stream, env: readers.env(process.env), maxBuffer: 16_777_216 };
  const { status, stdout, stderr } = spawnSync('python3', [program], options);
  if (status !== 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !canReadArrow()) {
  process.exitCode = readers.install(process.env) ? 0 : 1;
}
