import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { afterAll, describe, expect, it } from 'vitest';
import * as catalog from './gen/datahub/catalog/v1/catalog.ts';
import * as internal from './gen/datahub/catalog/v1/catalog_internal.ts';
import * as executor from './gen/datahub/executor/v1/executor.ts';
import * as ml from './gen/datahub/ml/v1/ml.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const buf = join(root, '../node_modules/.bin/buf');
const scratch = mkdtempSync(join(tmpdir(), 'datahub-proto-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function filesBelow(dir: string): Record<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(dir, path), readFileSync(path, 'utf8')];
    }),
  );
}

describe('the contract', () => {
  it('is linted', () => {
    execFileSync(buf, ['lint'], { cwd: root });
  });

  it('breaks nobody who uses the released one (`npm run release -w proto` makes this one the released)', () => {
    execFileSync(buf, ['breaking', '--against', 'released.binpb'], { cwd: root });
  });

  it('has fresh generated code: run `npm run generate` when this fails', () => {
    const template = readFileSync(join(root, 'buf.gen.yaml'), 'utf8').replace(
      'out: gen',
      `out: ${scratch}/gen`,
    );
    const path = join(scratch, 'buf.gen.yaml');
    writeFileSync(path, template);
    execFileSync(buf, ['generate', '--template', path], {
      cwd: root,
      env: { ...process.env, PATH: `${join(root, '../node_modules/.bin')}:${process.env.PATH}` },
    });
    execFileSync(buf, ['build', '-o', join(scratch, 'gen/descriptors.binpb')], { cwd: root });
    const health = '../node_modules/grpc-health-check/proto';
    execFileSync(buf, ['build', health, '-o', join(scratch, 'gen/health.binpb')], { cwd: root });
    expect(filesBelow(join(scratch, 'gen'))).toEqual(filesBelow(join(root, 'gen')));
  });
});

const services = {
  'datahub/catalog/v1/catalog.proto': ['datahub.catalog.v1.CatalogService', catalog.CatalogServiceService],
  'datahub/catalog/v1/catalog_internal.proto': [
    'datahub.catalog.v1.CatalogInternalService',
    internal.CatalogInternalServiceService,
  ],
  'datahub/executor/v1/executor.proto': [
    'datahub.executor.v1.ExecutorService',
    executor.ExecutorServiceService,
  ],
  'datahub/ml/v1/ml.proto': ['datahub.ml.v1.MlService', ml.MlServiceService],
} as const;

describe.each(Object.entries(services))('%s as @grpc/proto-loader reads it', (file, [name, generated]) => {
  const loaded = loadSync(file, { includeDirs: [root] })[name] as ServiceDefinition;

  it('has the methods of the generated code', () => {
    const shapes = (service: object) =>
      Object.values(service as ServiceDefinition)
        .map(({ path, requestStream, responseStream }) => ({ path, requestStream, responseStream }))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
    expect(shapes(loaded)).toEqual(shapes(generated));
  });

  it('reads what the generated code writes', () => {
    for (const method of Object.values(generated)) {
      const twin = Object.values(loaded).find(({ path }) => path === method.path);
      const empty = method.requestDeserialize(Buffer.alloc(0));
      const bytes = (method.requestSerialize as (value: unknown) => Buffer)(empty);
      expect(() => twin?.requestDeserialize(bytes)).not.toThrow();
    }
  });
});
