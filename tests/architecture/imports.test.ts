import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

function sources(dir: string): string[] {
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes('node_modules') && !path.includes('/gen/'));
}

const all = ['services', 'packages', 'tools', 'tests', 'bench', 'proto'].flatMap(sources);

/** What a file imports: packages by name, own files by their path. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, target = '']) =>
    target.startsWith('.') ? relative(root, resolve(root, dirname(path), target)) : target,
  );
}

const production = all.filter((path) => /^(services|packages)\/[^/]+\/src\//.test(path));

describe('the tree', () => {
  it('has no file over 300 lines', () => {
    const long = all.filter((path) => readFileSync(join(root, path), 'utf8').split('\n').length > 301);
    expect(long).toEqual([]);
  });

  it('has kebab-case files only', () => {
    const odd = all.filter(
      (path) => !/^[a-z0-9-]+(\.servers|\.property)?(\.test)?\.ts$/.test(path.split('/').at(-1) ?? ''),
    );
    expect(odd.filter((path) => path !== 'vitest.config.ts')).toEqual([]);
  });
});

describe('imports', () => {
  it('of one service by another there are none', () => {
    const crossing = production.flatMap((path) => {
      const own = /^services\/([^/]+)\//.exec(path)?.[1];
      return importsOf(path)
        .filter(
          (target) => /^@datahub\/(gateway|catalog|executor|ml)(\/|$)/.test(target) && own !== undefined,
        )
        .map((target) => `${path} → ${target}`);
    });
    expect(crossing).toEqual([]);
  });

  it('of services by packages are in the hub alone, which composes them', () => {
    const up = production
      .filter((path) => path.startsWith('packages/') && !path.startsWith('packages/hub/'))
      .flatMap((path) =>
        importsOf(path).filter((target) =>
          /^(services\/|@datahub\/(gateway|catalog|executor|ml))/.test(target),
        ),
      );
    expect(up).toEqual([]);
  });

  it('of one engine by another there are none', () => {
    const crossing = production.flatMap((path) => {
      const own = /engines\/([^/]+)\/[^/]+\.ts$/.exec(path)?.[1];
      return importsOf(path).filter((target) => {
        const other = /engines\/([^/]+)\/[^/]+\.ts$/.exec(target)?.[1];
        return own !== undefined && other !== undefined && other !== 'shared' && own !== other;
      });
    });
    expect(crossing).toEqual([]);
  });

  it('of Express Gateway there are none outside of the edge', () => {
    const outside = production.filter((path) => !path.startsWith('services/gateway/src/edge/'));
    expect(
      outside.filter((path) => importsOf(path).some((target) => target.startsWith('express-gateway'))),
    ).toEqual([]);
  });

  it('of the gateway reach nothing that opens credentials or databases', () => {
    const gateway = production.filter((path) => path.startsWith('services/gateway/'));
    const forbidden =
      /^(@datahub\/sealing|pg|mysql2|mongodb|@datahub\/document-store|@datahub\/proto\/catalog\/v1\/catalog_internal)/;
    expect(gateway.flatMap((path) => importsOf(path).filter((target) => forbidden.test(target)))).toEqual([]);
  });

  it('of natural are by sub-path', () => {
    expect(production.filter((path) => importsOf(path).includes('natural'))).toEqual([]);
  });

  it('of the environment happen in settings alone', () => {
    const readers = production.filter((path) => /process\.env/.test(readFileSync(join(root, path), 'utf8')));
    const programs = ['packages/hub/src/cli.ts', 'packages/hub/src/distributed.ts'];
    expect(readers.filter((path) => !path.endsWith('/main.ts') && !programs.includes(path))).toEqual([]);
  });
});
