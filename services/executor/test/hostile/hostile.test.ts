import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ResolveQueryResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { Format } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import type { HubError } from '@datahub/service-kit/call/error';
import { readSettings } from '@datahub/service-kit/settings/settings';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectGarbage } from '../../../../tests/support/memory.ts';
import { readExecutorConfig } from '../../src/config.ts';
import { createEngines } from '../../src/engines/index.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';
import { type ExecutorService, openExecutor } from '../../src/service.ts';
import { leaseAny } from '../fakes/slots.ts';
import { unlimitedLogins } from '../unlimited-logins.ts';
import type { Play } from './plays.ts';
import { type Rogue, startRogue } from './rogue.ts';
import { mongodbPlays } from './rogue-mongodb.ts';
import { mysqlPlays } from './rogue-mysql.ts';
import { postgresPlays } from './rogue-postgres.ts';

const canary = { user: 'user-canary-5f2e', password: 'password-canary-91c7', file: 'file-canary-c03d' };
const secrets = Object.values(canary);
/** The time limits for a log-in, and for log-in and statement together, of servers that go on until they are left. */
const short: Limits = { logInMs: 3_500, statementMs: 4_000 };
/** Of servers that accept the log-in and never end a statement. There is time for the log-in on a busy machine, too. */
const statementOnly: Limits = { logInMs: 7_000, statementMs: 7_500 };
/** Of servers that end by themselves, on a busy machine too. */
const long: Limits = { logInMs: 40_000, statementMs: 45_000 };
/** The limits end an execution long before its call ends, on a busy machine too. */
const callMs = 150_000;
const endedMs = 50_000;
const growthBytesMax = 16 * 1_048_576;

/** Measures the most bytes in use, beyond those at the start, until the returned function is called. */
function watchMemory(): () => number {
  const inUse = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = inUse();
  let most = 0;
  const look = () => {
    most = Math.max(most, inUse() - before);
  };
  const timer = setInterval(look, 200);
  return () => {
    look();
    clearInterval(timer);
    return most;
  };
}

const texts: Record<string, string> & { sql: string } = {
  sql: 'SELECT 1 AS hostile',
  mongodb: '{"find": "hostile"}',
};

interface Limits {
  logInMs: number;
  statementMs: number;
}

interface Stage {
  lines: string[];
  add(engine: string, play: Play): Promise<string>;
  run(sourceId: string, format?: Format): Promise<{ code: string; message: string; ms: number }>;
  received(): string;
  close(): Promise<void>;
}

/** An executor with hostile sources. */
function openStage(limits: Limits): Stage {
  const rogues = new Map<string, { engine: string; rogue: Rogue }>();
  const lines: string[] = [];
  const log = (...parts: unknown[]) => void lines.push(JSON.stringify(parts));
  const logger = { debug: log, info: log, warn: log, error: log, isLevelEnabled: () => true };
  const resolve = (queryId: string): ResolveQueryResponse => {
    const { engine, rogue } = rogues.get(queryId) as { engine: string; rogue: Rogue };
    const owner = { accountId: 'a', hubId: 'h', version: 1 };
    const { user, password } = canary;
    const address = { host: '127.0.0.1', port: rogue.port, database: 'd', tls: { mode: 'prefer' } };
    return {
      query: {
        ...owner,
        queryId,
        command: 'SELECT',
        query: texts[engine] ?? texts.sql,
        context: [],
        notNull: [],
      },
      source: {
        ...owner,
        ...address,
        sourceId: queryId,
        engine,
        sealed: { user, password, tlsKey: '' },
        pool: {},
        settingsVersion: '1',
      },
      leaseMs: 60_000,
    };
  };
  const settings = {
    DATAHUB_CONNECT_TIMEOUT_MS: String(limits.logInMs),
    DATAHUB_POOL_WAIT_MS: String(limits.statementMs),
    DATAHUB_STATEMENT_TIMEOUT_MS: String(limits.statementMs),
    // Rows may be large, and each is buffered as a whole.
    DATAHUB_ROW_BYTES_MAX: String(4 * 1_048_576),
  };
  const service: ExecutorService = openExecutor(
    readSettings(settings, (reader) => readExecutorConfig(reader, { embedded: true })),
    {
      logger: logger as unknown as Logger,
      catalog: {
        resolveQuery: async ({ queryId }) => resolve(queryId),
        resolveSource: async ({ sourceId }) => ({ source: resolve(sourceId).source, leaseMs: 0 }),
        resolveDraft: async () => ({ query: undefined, source: undefined, leaseMs: 0 }),
        saveSignature: async () => ({}),
        takeSourceCheck: async () => ({ taken: false, queryIds: [] }),
        listSealed: async () => ({ sources: [] }),
        ...unlimitedLogins,
        reseal: async () => ({ done: false, moreDone: [] }),
        takeDeliveries: async () => ({ deliveries: [], lagMs: 0 }),
        endDelivery: async () => ({}),
        noteSource: async () => ({}),
        recordRuns: async () => ({}),
        noteCommit: async () => ({}),
        listSealedSecrets: async () => ({ secrets: [] }),
        resealSecrets: async () => ({ done: false }),
      },
      follow: () => ({ close: async () => {} }),
      leaseSlots: leaseAny,
      opener: { currentKeyId: 'k', open: async (text) => text },
      engines: createEngines(),
      compile: compileQuery,
      createWriter: createResponseWriter,
    },
  );
  return {
    lines,
    add: async (engine, { name, play }) => {
      const id = `${engine} ${name}`;
      rogues.set(id, { engine, rogue: await startRogue(play) });
      return id;
    },
    run: async (queryId, format = Format.FORMAT_JSON) => {
      const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
      const ctx = createCallContext({ timeoutMs: callMs, principal });
      const reply = { chunk: () => true, onDrain: () => {} };
      const startedAt = performance.now();
      const err: HubError | undefined = await service.executor
        .execute({ queryId, contextJson: '', format }, ctx, reply)
        .then(
          () => undefined,
          (failure) => failure,
        );
      return { code: err?.code ?? 'OK', message: err?.message ?? '', ms: performance.now() - startedAt };
    },
    received: () => [...rogues.values()].map(({ rogue }) => rogue.received()).join('\n'),
    close: async () => {
      await service.close(100);
      for (const { rogue } of rogues.values()) rogue.close();
    },
  };
}

/** The encodings in which the secret could appear in a header or a dump. */
const formsOf = (secret: string) => [
  secret,
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('hex'),
];

describe('a hostile server', () => {
  let stages: { ending: Stage; logIn: Stage; statement: Stage };
  let dir: string;
  let plays: { engine: string; play: Play }[];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-hostile-'));
    const path = join(dir, 'secret');
    await writeFile(path, canary.file);
    plays = [
      ...postgresPlays.map((play) => ({ engine: 'postgres', play })),
      ...mongodbPlays.map((play) => ({ engine: 'mongodb', play })),
      ...['mysql', 'mariadb'].flatMap((engine) => mysqlPlays(path).map((play) => ({ engine, play }))),
    ];
    stages = { ending: openStage(long), logIn: openStage(short), statement: openStage(statementOnly) };
  });
  afterAll(async () => {
    for (const stage of Object.values(stages)) await stage.close();
    await rm(dir, { recursive: true, force: true });
  });

  const check = async (stage: Stage, { engine, play }: { engine: string; play: Play }) => {
    const { code, message, ms } = await stage.run(await stage.add(engine, play), play.format);
    for (const secret of [...secrets, '127.0.0.1']) expect(message).not.toContain(secret);
    expect(play.codes, `${engine} ${play.name}: ${message}`).toContain(code);
    expect(ms, `${engine} ${play.name}`).toBeLessThan(endedMs);
  };

  test('gives the right error code, in time and within the memory limit', async () => {
    for (const { engine, play } of plays.filter(({ play }) => !play.lasts)) {
      const stop = watchMemory();
      await check(stages.ending, { engine, play });
      expect(stop(), `${engine} ${play.name}`).toBeLessThan(growthBytesMax);
    }
  });

  test('is abandoned after the time limit, within the memory limit', async () => {
    const stop = watchMemory();
    const lasting = plays.filter(({ play }) => play.lasts);
    const inStatement = lasting.filter(({ play }) => play.codes.includes('STATEMENT_TIMEOUT'));
    const inLogIn = lasting.filter((one) => !inStatement.includes(one));
    await Promise.all(inLogIn.map((one) => check(stages.logIn, one)));
    await Promise.all(inStatement.map((one) => check(stages.statement, one)));
    // The hub and the servers share this memory.
    expect(stop()).toBeLessThan(2 * growthBytesMax);
  });

  test('gets no password and no file, and the log contains neither', () => {
    const all = Object.values(stages);
    const lines = all.flatMap((stage) => stage.lines);
    expect(lines.length).toBeGreaterThan(plays.length);
    const log = lines.join('\n');
    for (const form of secrets.flatMap(formsOf)) expect(log).not.toContain(form);
    const received = all.map((stage) => stage.received()).join('\n');
    for (const form of [canary.password, canary.file].flatMap(formsOf)) expect(received).not.toContain(form);
  });
});
