/**
 * schemathesis, which sends generated requests to an OpenAPI document's operations and checks the answers against it.
 *
 *     node tools/schemathesis.ts   installs it for the tests, unless it is installed
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonPackage } from './python-package.ts';

const schemathesis = pythonPackage('schemathesis', '4.32.5');

/** True if `fuzz` can be called. */
export const canFuzz = (): boolean => schemathesis.isInstalled(process.env);

/**
 * What holds for every operation. Some bodies that the schemas allow are refused, because one member depends on another,
 * so the checks of accepted and refused data are not among these.
 */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'response_headers_conformance',
  'ignored_auth',
  'use_after_free',
];

/** These dial generated sources, which cannot be reached (502) and are then paused (503). */
const config = `
[[operations]]
include-name = ["GET /v1/sources/{sourceId}/schema", "POST /v1/sources/{sourceId}/test"]
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 502, 503]
`;

export interface FuzzOptions {
  /** The hub's address. */
  url: string;
  key: string;
  /** Generated requests per operation. */
  examples: number;
  /** Whether to send also requests that cover each part of each schema. They take a minute. */
  covers: boolean;
  /** An empty folder that schemathesis may write to. */
  workDir: string;
}

/** Resolves to the exit code, which is 0 if no check failed, and the report. */
export async function fuzz({ url, key, examples, covers, workDir }: FuzzOptions): Promise<[number, string]> {
  const args = ['-m', 'schemathesis.cli', 'run', `${url}/openapi.json`];
  const options = {
    header: `x-service-api-key: ${key}`,
    checks: checks.join(','),
    'max-examples': String(examples),
    phases: covers ? 'examples,coverage,fuzzing' : 'examples,fuzzing',
    seed: '1',
    'generation-database': 'none',
    // These could end the key that all other requests use.
    'exclude-path-regex': '/rotate$',
    'exclude-name': 'PUT /v1/keys/{keyId}',
  };
  for (const [name, value] of Object.entries(options)) args.push(`--${name}`, value);
  await writeFile(join(workDir, 'schemathesis.toml'), config);
  const child = spawn('python3', [...args, '--no-color'], {
    cwd: workDir,
    env: schemathesis.env(process.env),
  });
  let report = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => (report += text));
  const [code] = await once(child, 'close');
  return [code, report];
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !canFuzz())
  process.exitCode = schemathesis.install(process.env) ? 0 : 1;
