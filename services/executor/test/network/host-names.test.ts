import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLocalNames } from '../../src/network/host-names.ts';

async function writeFiles({ hosts = '', resolvConf = '' }) {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-names-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const files = { hosts: join(dir, 'hosts'), resolvConf: join(dir, 'resolv.conf') };
  await writeFile(files.hosts, hosts);
  await writeFile(files.resolvConf, resolvConf);
  return { files, names: createLocalNames(files) };
}

test('the hosts file gives all addresses of a name, in whatever case and with a dot at its end', async () => {
  const hosts = `
# a comment
127.0.0.1  localhost
::1        localhost ip6-localhost # another
fe80::1%lo0 localhost
10.0.0.7\tDB db.corp.example
10.0.0.7   db
nonsense   here
`;
  const { names } = await writeFiles({ hosts });
  expect(names.addressesOf('localhost')).toEqual(['127.0.0.1', '::1']);
  expect(names.addressesOf('db')).toEqual(['10.0.0.7']);
  expect(names.addressesOf('DB.corp.example.')).toEqual(['10.0.0.7']);
  for (const host of ['here', 'comment', 'other', '__proto__', ''])
    expect(names.addressesOf(host)).toEqual([]);
});

test('changes of the files are seen', async () => {
  const { files, names } = await writeFiles({ hosts: '10.0.0.1 db\n' });
  expect(names.addressesOf('db')).toEqual(['10.0.0.1']);
  await writeFile(files.hosts, '10.0.0.22 db\n');
  expect(names.addressesOf('db')).toEqual(['10.0.0.22']);
  await rm(files.hosts);
  expect(names.addressesOf('db')).toEqual([]);
});

test('names are searched as resolv.conf says', async () => {
  const pod = 'search shop.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5 timeout:1\n';
  const { names } = await writeFiles({ resolvConf: pod });
  const searched = (host: string) =>
    ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'].map((domain) => `${host}.${domain}`);
  expect(names.fullNamesOf('db')).toEqual([...searched('db'), 'db']);
  expect(names.fullNamesOf('db.other')).toEqual([...searched('db.other'), 'db.other']);
  expect(names.fullNamesOf('a.b.c.d.e.example')).toEqual([
    'a.b.c.d.e.example',
    ...searched('a.b.c.d.e.example'),
  ]);
  expect(names.fullNamesOf('db.example.')).toEqual(['db.example.']);
});

test.each([
  ['search a.example\ndomain b.example\n', ['db.b.example', 'db']],
  ['domain b.example\nsearch a.example .\n', ['db.a.example', 'db']],
  ['search .\n', ['db']],
  ['search\n', ['db']],
  ['search a.example\noptions ndots:0\n', ['db', 'db.a.example']],
  ['search a.example\noptions ndots:99 ndots:x\n; search c.example\n', ['db.a.example', 'db']],
])('%j', async (resolvConf, expected) => {
  const { names } = await writeFiles({ resolvConf });
  expect(names.fullNamesOf('db')).toEqual(expected);
});

test('without a setting a name with a dot is asked for as it is first, and then in the domain of this machine', () => {
  const names = createLocalNames({ hosts: '/nowhere', resolvConf: '/nowhere' });
  const domain = hostname().split('.').slice(1).join('.');
  expect(names.fullNamesOf('db.example')).toEqual([
    'db.example',
    ...(domain ? [`db.example.${domain}`] : []),
  ]);
  expect(names.addressesOf('localhost')).toEqual([]);
});
