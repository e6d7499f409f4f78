/** Which part of the product may import what. */

import { describe, expect, it } from 'vitest';
import { readSourceTree } from './source-tree.ts';

const tree = readSourceTree();
const production = [...tree.keys()].filter((path) => /^(services|packages)\/[^/]+\/src\//.test(path));
const partOf = (path: string) => /^(?:services|packages)\/[^/]+/.exec(path)?.[0] ?? '';

/** Files of the repository by their path, packages of others by their name. */
function importsOf(path: string): string[] {
  const file = tree.get(path);
  return [...(file?.imports ?? []), ...(file?.packages ?? [])];
}

describe('names of files', () => {
  it('are in kebab-case', () => {
    const odd = [...tree.keys()].filter(
      (path) => !/\/[a-z0-9-]+(\.servers|\.property)?(\.test)?\.(tsx?|js|d\.mts|mjs)$/.test(path),
    );
    expect(odd).toEqual([]);
  });
});

describe('imports', () => {
  it('of one service by another there are none, apart from the hub, which composes them', () => {
    const crossing = production
      .filter((path) => path.startsWith('services/') && !path.startsWith('services/hub/'))
      .flatMap((path) =>
        importsOf(path)
          .filter((target) => target.startsWith('services/') && partOf(target) !== partOf(path))
          .map((target) => `${path} → ${target}`),
      );
    expect(crossing).toEqual([]);
  });

  it('of services by packages there are none', () => {
    const up = production
      .filter((path) => path.startsWith('packages/'))
      .flatMap((path) => importsOf(path).filter((target) => target.startsWith('services/')));
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
    const outside = production.filter((path) => !path.startsWith('packages/edge/'));
    expect(
      outside.filter((path) => importsOf(path).some((target) => target.startsWith('express-gateway'))),
    ).toEqual([]);
  });

  it('of the gateway reach nothing that opens credentials or databases', () => {
    const gateway = production.filter((path) => path.startsWith('services/gateway/'));
    const forbidden =
      /^(pg|mysql2|mongodb)(\/|$)|^packages\/(sealing|document-store)\/|^proto\/gen\/.*\/catalog_internal/;
    expect(gateway.flatMap((path) => importsOf(path).filter((target) => forbidden.test(target)))).toEqual([]);
  });

  it('of natural are by sub-path', () => {
    expect(production.filter((path) => importsOf(path).includes('natural'))).toEqual([]);
  });

  it('of the environment happen in settings alone', () => {
    const readers = production.filter((path) => /process\.env/.test(tree.get(path)?.text ?? ''));
    const programs = ['cli', 'distributed', 'workers/owner', 'workers/worker'].map(
      (name) => `services/hub/src/${name}.ts`,
    );
    expect(readers.filter((path) => !path.endsWith('/main.ts') && !programs.includes(path))).toEqual([]);
  });
});
