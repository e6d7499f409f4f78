import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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

it.each([
  ['a file', 'hub/queries/one.sql', '../../outside/one.sql'],
  ['a folder', 'hub/queries', '../outside'],
  ['its file', 'hub/hub.yaml', '../outside/hub.yaml'],
])('writes nothing if %s is a link', async (_what, link, target) => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
  try {
    await mkdir(join(dir, 'outside'));
    await mkdir(dirname(join(dir, link)), { recursive: true });
    await symlink(target, join(dir, link));
    const before = await readdir(dir, { recursive: true });
    const written = write(join(dir, 'hub'), ['one']);
    await expect(written).rejects.toThrow(`${link.slice(4)}:1:1: Links are not followed.`);
    expect(await readdir(dir, { recursive: true })).toEqual(before);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

it('names all files in another encoding with their lines, beside the other faults', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
  try {
    await write(dir, ['one', 'two', 'three']);
    const latin1 = Buffer.from(`${text}-- Müller\n`, 'latin1');
    for (const name of ['one', 'two']) await writeFile(join(dir, `queries/${name}.sql`), latin1);
    await writeFile(join(dir, 'queries/three.sql'), 'SELECT 1');
    await expect(readDirectory(dir)).rejects.toThrow(
      /^queries\/one\.sql:6:1: .*not UTF-8.*\nqueries\/three\.sql:1:1: .*\nqueries\/two\.sql:6:1: .*not UTF-8/,
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

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

it('follows no link, also if it is a folder or the file of the hub', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
  try {
    await write(join(dir, 'other'), ['a']);
    await write(join(dir, 'hub'), ['b']);
    for (const name of ['hub.yaml', 'queries', 'boards']) {
      await rm(join(dir, 'hub', name), { recursive: true, force: true });
      await symlink(join(dir, 'other', name), join(dir, 'hub', name));
    }
    const failed = await readDirectory(join(dir, 'hub')).catch((err) => err);
    expect(failed.faults.map(({ file, detail }: { file: string; detail: string }) => [file, detail])).toEqual(
      ['hub.yaml', 'queries', 'boards'].map((file) => [
        file,
        'Links are not followed. Put the file itself here.',
      ]),
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

it.skipIf(process.platform === 'win32')('does not wait for what is no file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
  try {
    await write(dir, ['a']);
    const pipes = ['hub.yaml', 'queries/b.sql'];
    await rm(join(dir, 'hub.yaml'));
    for (const pipe of pipes) execFileSync('mkfifo', [join(dir, pipe)]);
    const failed = await readDirectory(dir).catch((err) => err);
    expect(failed.faults).toMatchObject(
      pipes.map((file) => ({ file, detail: 'This is neither a file nor a folder.' })),
    );
    await expect(write(dir, ['a'])).rejects.toThrow('hub.yaml:1:1: This is neither');
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

it('names the place of numbers that JSON does not have, and of too many levels and aliases', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-directory-'));
  try {
    await write(dir, ['a']);
    const file = join(dir, 'hub.yaml');
    const whole = await readFile(file, 'utf8');
    const detailOf = async (added: string) => {
      await writeFile(file, `${whole}\n${added}`);
      return (await readDirectory(dir).catch((err) => err)).message.split('\n')[0];
    };
    expect(await detailOf('extra: .inf')).toMatch(/^hub\.yaml:\d+:8: is a number that JSON does not have/);
    expect(await detailOf(`extra: ${'['.repeat(20_000)}`)).toMatch(/^hub\.yaml:\d+:\d+: /);
    const aliases = Array.from({ length: 9 }, (_, i) => `x${i + 1}: &x${i + 1} [${`*x${i},`.repeat(9)}]`);
    expect(await detailOf(['x0: &x0 [1]', ...aliases].join('\n'))).toMatch(/^hub\.yaml:1:1: has too many/);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
