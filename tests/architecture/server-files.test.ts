import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = (name: string) => readFileSync(join(root, 'deploy/server', name), 'utf8');
const dir = mkdtempSync(join(tmpdir(), 'data-hub-server-'));
afterAll(() => rmSync(dir, { recursive: true }));

const isInstalled = (program: string, option: string) => spawnSync(program, [option]).error === undefined;
const directive = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
const unit = text('data-hub.service');

describe('deploy/server', () => {
  it.skipIf(!isInstalled('systemd-analyze', '--version'))(
    'has a unit that systemd accepts (needs systemd-analyze)',
    () => {
      const path = join(dir, 'data-hub.service');
      // Programs, user and folder of the unit are those of a server.
      const here = unit
        .replaceAll('/opt/data-hub', root.replace(/\/$/, ''))
        .replaceAll('=data-hub\n', '=root\n');
      writeFileSync(path, here);
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
      expect([
        status,
        stdout,
        stderr.split('\n').filter((line) => line.includes('data-hub.service')),
      ]).toEqual([0, '', []]);
    },
  );

  it('starts the program of `npm start`, with a longer stop than its drain', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const [, ...words] = directive('ExecStart').split(' ');
    expect(scripts.start).toBe(`exec node ${words.join(' ')}`);
    expect(Number(directive('TimeoutStopSec'))).toBeGreaterThan(25);
  });

  it('gives the program settings from the files of LoadCredential', () => {
    const credentials = join(dir, 'credentials');
    mkdirSync(credentials);
    writeFileSync(join(credentials, 'DATAHUB_API_KEY'), 'from a file\n');
    writeFileSync(join(credentials, 'DATAHUB_NAMESPACE'), 'from a file');
    writeFileSync(join(credentials, 'other'), 'x');
    const program = join(dir, 'print.mjs');
    writeFileSync(
      program,
      'console.log(process.env.DATAHUB_API_KEY, process.env.DATAHUB_NAMESPACE, process.env.other)',
    );
    const env = {
      PATH: process.env.PATH,
      CREDENTIALS_DIRECTORY: credentials,
      DATAHUB_NAMESPACE: 'of the environment',
    };
    const launch = join(root, 'packages/service-kit/launch.mjs');
    const printed = execFileSync(process.execPath, [launch, program], { env, encoding: 'utf8' });
    expect(printed).toBe('from a file of the environment undefined\n');
  });

  it.skipIf(!isInstalled('nginx', '-v'))('has a configuration that nginx accepts (needs nginx)', () => {
    const keys = join(dir, 'hub.example.com');
    mkdirSync(keys);
    const made = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '1',
      '-subj',
      '/CN=hub.example.com',
    ];
    const files = ['-keyout', join(keys, 'privkey.pem'), '-out', join(keys, 'fullchain.pem')];
    execFileSync('openssl', [...made, ...files], { stdio: 'ignore' });
    const here = text('nginx.conf').replaceAll('/etc/letsencrypt/live/hub.example.com', keys);
    const path = join(dir, 'nginx.conf');
    writeFileSync(path, `pid ${dir}/pid;\nerror_log stderr;\nevents {}\nhttp { access_log off;\n${here}}\n`);
    const { status, stderr } = spawnSync('nginx', ['-t', '-c', path, '-p', dir], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.stringContaining('test is successful')]);
  });
});
