import { chmod, chown, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cacheDir } from '../../../../tools/cache.ts';
import { type Certificates, createAuthority, idOfUser } from '../../../../tools/databases/certificates.ts';
import { findMariadb, startMariadb } from '../../../../tools/databases/mariadb.ts';
import { findMysql, startMysql } from '../../../../tools/databases/mysql.ts';
import { findPostgres, type StartedDatabase, startPostgres } from '../../../../tools/databases/postgres.ts';
import { findCommand } from '../../../../tools/databases/process.ts';
import { createMysqlEngine } from '../../src/engines/mysql/index.ts';
import { createPostgresEngine } from '../../src/engines/postgres/index.ts';
import type { Connection, ConnectSettings } from '../../src/ports/engine.ts';
import { ask, dial, operateMysql, settingsOf } from '../fixture.ts';
import { startStripper } from '../hostile/stripper.ts';

const bin = await findPostgres();
const mariadb = findMariadb();
const mysqld = await findMysql(cacheDir);
const hasOpenssl = findCommand('openssl') !== undefined;

/** A server whose certificate can be changed while it runs. */
interface Subject {
  server: StartedDatabase;
  show(certificates: Certificates): Promise<void>;
  open(settings: ConnectSettings): Promise<Connection>;
  /** What says whether the session is encrypted. */
  question: string;
  isEncrypted(row: Record<string, unknown>): boolean;
  /** Takes the offer of TLS out of what the server says first. */
  strip(answer: Buffer): Buffer;
  sleep: string;
}

async function startSubjectPostgres(dir: string, good: Certificates): Promise<Subject> {
  const server = await startPostgres(bin as string, { dir, certificates: good, port: await freePort() });
  const operator = async (text: string) => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(text);
    await client.end();
  };
  await operator("CREATE ROLE tls_client LOGIN; CREATE ROLE tls_only LOGIN PASSWORD 'tls only'");
  const hba = join(dir, 'postgres/data/pg_hba.conf');
  const rules = [
    'hostssl all tls_client all cert',
    'hostssl all tls_only all scram-sha-256',
    'host all tls_only all reject',
  ];
  await writeFile(hba, `${rules.join('\n')}\n${await readFile(hba, 'utf8')}`);
  return {
    server,
    show: async ({ cert, key }) => {
      await replace(dir, 'postgres', { cert, key });
      await operator('SELECT pg_reload_conf()');
      await new Promise((resolve) => setTimeout(resolve, 200));
    },
    open: (settings) =>
      createPostgresEngine().connect(settings, { dial, signal: AbortSignal.timeout(60_000) }),
    question: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
    isEncrypted: ({ ssl }) => ssl === true,
    strip: (answer) => (answer.length === 1 ? Buffer.from('N') : answer),
    sleep: 'SELECT pg_sleep(20)',
  };
}

async function startSubjectMariadb(dir: string, good: Certificates): Promise<Subject> {
  const options = { dir, certificates: good, port: await freePort() };
  const server = await startMariadb(mariadb as NonNullable<typeof mariadb>, options);
  return subjectOf(server, async (certificates) => {
    await replace(dir, 'mariadb', certificates);
    await operateMysql(server.url, ['FLUSH SSL']);
  });
}

async function startSubjectMysql(dir: string, good: Certificates): Promise<Subject> {
  const port = await freePort();
  const start = (certificates: Certificates) =>
    startMysql(mysqld as NonNullable<typeof mysqld>, { dir, certificates, port });
  const subject = await subjectOf(await start(good), async (certificates) => {
    await replace(dir, 'mysql', certificates);
    await copyFile(certificates.ca, join(dir, 'mysql/ca.crt'));
    // It reloads no certificate that has expired, but starts with one.
    await operateMysql(subject.server.url, ['ALTER INSTANCE RELOAD TLS']).catch(async () => {
      await subject.server.stop();
      subject.server = await start(certificates);
    });
  });
  return subject;
}

async function subjectOf(server: StartedDatabase, show: Subject['show']): Promise<Subject> {
  await operateMysql(server.url, [
    "CREATE USER tls_client IDENTIFIED BY 'p' REQUIRE SUBJECT '/CN=tls_client'",
    "CREATE USER tls_only IDENTIFIED BY 'tls only' REQUIRE SSL",
    'GRANT ALL ON hub.* TO tls_client',
    'GRANT ALL ON hub.* TO tls_only',
  ]);
  return {
    server,
    show,
    open: (settings) => createMysqlEngine().connect(settings, { dial, signal: AbortSignal.timeout(60_000) }),
    question: "SHOW STATUS LIKE 'Ssl_cipher'",
    isEncrypted: ({ Value }) => Value !== '',
    strip: (answer) => {
      // The lower capabilities come after the version, the thread's id and the first part of the scramble.
      const at = answer.indexOf(0, 5) + 1 + 4 + 9;
      const stripped = Buffer.from(answer);
      stripped.writeUInt16LE(answer.readUInt16LE(at) & ~0x0800, at);
      return stripped;
    },
    sleep: 'SELECT SLEEP(20)',
  };
}

type Name = 'postgres' | 'mariadb' | 'mysql';

async function replace(dir: string, name: Name, files: Partial<Certificates>): Promise<void> {
  // The MySQL of the tests runs as whoever starts it.
  const user = name === 'mysql' ? undefined : await idOfUser(name === 'postgres' ? 'postgres' : 'mysql');
  for (const [kind, file] of [
    ['cert', 'server.crt'],
    ['key', 'server.key'],
  ] as const) {
    const path = join(dir, name, file);
    await copyFile(files[kind] as string, path);
    await chmod(path, 0o600);
    if (user) await chown(path, user.uid, user.gid);
  }
}

const subjects = [
  ['postgres', bin !== undefined && hasOpenssl, startSubjectPostgres],
  ['mariadb', mariadb !== undefined && hasOpenssl, startSubjectMariadb],
  ['mysql', mysqld !== undefined && hasOpenssl, startSubjectMysql],
] as const;

describe.each(subjects)('TLS with %s', (engine, here, start) => {
  describe.skipIf(!here)('(needs one that is installed, and openssl)', () => {
    let dir: string;
    let subject: Subject;
    let stripper: Server;
    let certificates: Record<'good' | 'wrongName' | 'expired' | 'selfSigned' | 'client', Certificates>;
    let ca: string;

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-tls-'));
      await chmod(dir, 0o755);
      const sign = await createAuthority(join(dir, 'ours'));
      const strangers = await createAuthority(join(dir, 'theirs'));
      certificates = {
        good: await sign({ name: 'good' }),
        wrongName: await sign({ name: 'wrong', alternatives: 'DNS:other.example' }),
        expired: await sign({ name: 'expired', days: -1 }),
        selfSigned: await strangers({ name: 'stranger' }),
        client: await sign({ name: 'client', subject: 'tls_client' }),
      };
      ca = await readFile(certificates.good.ca, 'utf8');
      subject = await start(dir, certificates.good);
      stripper = await startStripper(Number(new URL(subject.server.url).port), subject.strip);
    });
    afterAll(async () => {
      stripper?.close();
      await subject?.server.stop();
      await rm(dir, { recursive: true, force: true });
    });

    const settings = (
      tls: ConnectSettings['tls'],
      change: Partial<ConnectSettings> = {},
    ): ConnectSettings => ({
      ...settingsOf(engine, subject.server.url),
      host: 'localhost',
      tls,
      ...change,
    });
    /** `encrypted`, `plain`, or the code and text of the refusal. */
    const attempt = async (...given: Parameters<typeof settings>): Promise<string> => {
      try {
        const connection = await subject.open(settings(...given));
        const { data } = await ask(connection, subject.question);
        connection.close();
        return subject.isEncrypted(data[0] as Record<string, unknown>) ? 'encrypted' : 'plain';
      } catch (err) {
        const { code, message } = err as { code: string; message: string };
        return `${code}: ${message}`;
      }
    };

    const unknown =
      'SOURCE_TLS: The certificate of the source is signed by an authority that the hub does not know. Set its CA as tls.ca.';
    const expired = 'SOURCE_TLS: The certificate of the source has expired. Renew it on the server.';
    const otherName =
      'SOURCE_TLS: The certificate of the source is for another host name. Use a host name that is in the certificate.';
    const none =
      'SOURCE_TLS: The source does not support TLS. Turn TLS on at the source, or set a TLS mode that does not require it.';

    it.each<['good' | 'wrongName' | 'expired' | 'selfSigned' | 'stripped', Record<string, string>]>([
      [
        'good',
        {
          full: 'encrypted',
          fullWithoutCa: unknown,
          requireCa: 'encrypted',
          require: 'encrypted',
          prefer: 'encrypted',
          disable: 'plain',
        },
      ],
      [
        'wrongName',
        {
          full: otherName,
          fullWithoutCa: unknown,
          requireCa: 'encrypted',
          require: 'encrypted',
          prefer: 'encrypted',
          disable: 'plain',
        },
      ],
      [
        'expired',
        {
          full: expired,
          fullWithoutCa: expired,
          requireCa: expired,
          require: 'encrypted',
          prefer: 'encrypted',
          disable: 'plain',
        },
      ],
      [
        'selfSigned',
        {
          full: unknown,
          fullWithoutCa: unknown,
          requireCa: unknown,
          require: 'encrypted',
          prefer: 'encrypted',
          disable: 'plain',
        },
      ],
      [
        'stripped',
        {
          full: none,
          fullWithoutCa: none,
          requireCa: none,
          require: none,
          prefer: 'plain',
          disable: 'plain',
        },
      ],
    ])('%s: what each mode takes', async (shown, wanted) => {
      if (shown !== 'stripped') await subject.show(certificates[shown]);
      const port =
        shown === 'stripped'
          ? (stripper.address() as { port: number }).port
          : Number(new URL(subject.server.url).port);
      expect({
        full: await attempt({ mode: 'verify-full', ca }, { port }),
        fullWithoutCa: await attempt({ mode: 'verify-full' }, { port }),
        requireCa: await attempt({ mode: 'require', ca }, { port }),
        require: await attempt({ mode: 'require' }, { port }),
        prefer: await attempt({ mode: 'prefer' }, { port }),
        disable: await attempt({ mode: 'disable' }, { port }),
      }).toEqual(wanted);
    });

    it('a client certificate logs in, and without it the log-in fails', async () => {
      await subject.show(certificates.good);
      const [cert, key] = await Promise.all(
        [certificates.client.cert, certificates.client.key].map((path) => readFile(path, 'utf8')),
      );
      const as = { user: 'tls_client', password: 'p' };
      const tls = { mode: 'verify-full', ca } as const;
      expect(await attempt({ ...tls, cert: cert as string, key: key as string }, as)).toBe('encrypted');
      expect(await attempt(tls, as)).toMatch(/^SOURCE_AUTH: /);
      const others = await readFile(certificates.good.key, 'utf8');
      expect(await attempt({ ...tls, cert: cert as string, key: others }, as)).toMatch(
        /^SOURCE_TLS: .*does not match the certificate/,
      );
    });

    it('a server that demands TLS takes no log-in in plain, and cancels over TLS', async () => {
      const as = { user: 'tls_only', password: 'tls only' };
      expect(await attempt({ mode: 'disable' }, as)).toMatch(/^SOURCE_(TLS|AUTH): /);
      const connection = await subject.open(settings({ mode: 'verify-full', ca }, as));
      const sleeping = ask(connection, subject.sleep);
      sleeping.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 200));
      await connection.cancel(AbortSignal.timeout(2_000));
      await expect(sleeping).rejects.toMatchObject({ code: 'CANCELLED' });
      connection.close();
    });
  });
});
