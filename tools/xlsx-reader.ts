/**
 * openpyxl, which reads XLSX in tests.
 *
 *     node tools/xlsx-reader.ts   installs it, unless it is installed
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pythonPackage } from './python-package.ts';

const reader = pythonPackage('openpyxl', '3.1.5');
const program = fileURLToPath(new URL('xlsx-reader.py', import.meta.url));

/** Type, value and number format. */
export type ReadCell = [type: string, value: string, format: string];
export type ReadSheet = [name: string, rows: ReadCell[][]];

export const canReadXlsx = (): boolean => reader.isInstalled(process.env);

/** Throws what the reader reports. */
export function readXlsx(file: Buffer): ReadSheet[] {
  const options = { input: file, env: reader.env(process.env), maxBuffer: 16_777_216 };
  const { status, stdout, stderr } = spawnSync('python3', [program], options);
  if (status !== 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !canReadXlsx()) {
  process.exitCode = reader.install(process.env) ? 0 : 1;
}
