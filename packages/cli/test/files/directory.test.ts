import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeDirectory } from '../../src/files/directory.ts';
import { readQueryFile } from '../../src/files/query-file.ts';

const text = '-- ---\n-- label: One\n-- source: Orders\n-- ---\nSELECT 1\n';

it.each(['../outside', 'a/../../outside', '/../../outside', '..'])(
  'writes nothing if a hub names a query %s',
  async (path) => {
    const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
    try {
      const query = readQueryFile(text, { file: 'a.sql', path, isSql: true, faults: [] })?.model;
      const hub = {
        path: 'shop',
        label: 'Shop',
        folders: [],
        sources: [],
        classifiers: [],
        queries: [query],
      };
      const written = writeDirectory(join(dir, 'hub'), {
        hub: hub as never,
        isMongodb: () => false,
        prune: false,
      });
      await expect(written).rejects.toThrow('Nothing was written');
      expect(await readdir(dir)).toEqual([]);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
);
