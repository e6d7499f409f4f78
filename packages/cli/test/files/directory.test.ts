import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readDirectory, writeDirectory } from '../../src/files/directory.ts';
import type { QueryModel } from '../../src/files/model.ts';
import { readQueryFile } from '../../src/files/query-file.ts';

const text = '-- ---\n-- label: One\n-- source: Orders\n-- ---\nSELECT 1\n';

function write(dir: string, paths: string[]) {
  const queryOf = (path: string) =>
    readQueryFile(text, { file: 'a.sql', path, isSql: true, faults: [] })?.model as QueryModel;
  const queries = paths.map(queryOf);
  const reference = (name: string) => `\${env:${name}}`;
  const settings = { host: 'h', port: 5432, database: 'd', user: reference('U'), password: reference('P') };
  const sources = [{ label: 'Orders', engine: 'postgres', connectionSettings: settings }] as never;
  const hub = { path: 'shop', label: 'Shop', folders: [], sources, classifiers: [], queries };
  return writeDirectory(dir, { hub, isMongodb: () => false, prune: false });
}

it.each(['../outside', 'a/../../outside', '/../../outside', '..'])(
  'writes nothing if a hub names a query %s',
  async (path) => {
    const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
    try {
      const written = write(join(dir, 'hub'), [path]);
      await expect(written).rejects.toThrow('Nothing was written');
      expect(await readdir(dir)).toEqual([]);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
);

it('writes no file with a name that Windows reserves, and reads the same paths again', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
  try {
    const paths = ['aux/x', 'con', 'con-2', 'console', 'lpt9', 'nul/com0/prn'];
    const { files } = await write(dir, paths);
    expect(files.filter((file) => file !== 'hub.yaml').sort()).toEqual([
      'queries/aux~/x.sql',
      'queries/con-2.sql',
      'queries/console.sql',
      'queries/con~.sql',
      'queries/lpt9~.sql',
      'queries/nul~/com0~/prn~.sql',
    ]);
    const pathsOf = async () => (await readDirectory(dir)).queries.map(({ model }) => model.path).sort();
    expect(await pathsOf()).toEqual(paths);
    // A file of an older version keeps its name.
    await rename(join(dir, 'queries/con~.sql'), join(dir, 'queries/con.sql'));
    await write(dir, paths);
    expect(await pathsOf()).toEqual(paths);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
