import type { ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { api, engines } from '../support/hub.ts';
import { openPlace } from '../support/hub-files.ts';

const { copyExample, datahub, suffix, withTable } = await openPlace();
const { url } = inject('hub');

describe('an apply of a hub as files', () => {
  const engine = engines[0] as string;

  it('is finished by the next apply after a kill at any point', async () => {
    const { dir, table, run, env } = await copyExample('killed', engine);
    await withTable(engine, table);
    await mkdir(join(dir, 'queries/many'));
    const text = '-- ---\n-- label: One of many\n-- source: Orders\n-- ---\nSELECT 1 AS one\n';
    for (let i = 0; i < 30; i++) await writeFile(join(dir, `queries/many/q${i}.sql`), text);
    let applied = 0;
    /** Resolves when the hub has a few queries more, or when the command has ended. */
    const untilMore = async (child: ChildProcess) => {
      const isOver = () => child.exitCode !== null || child.signalCode !== null;
      for (const before = applied; applied <= before && !isOver(); ) {
        const hubs: { hubId: string; path?: string }[] = await api.ok(api.get('/v1/hubs?limit=1000'));
        const hub = hubs.find((one) => one.path === `shop-killed-${suffix}`);
        if (hub === undefined) continue;
        const { length } = await api.ok(api.get(`/v1/queries?hubId=${hub.hubId}&limit=1000`));
        applied = Math.max(applied, length);
      }
    };
    for (let kills = 0; kills < 6; kills++) {
      const watched: Promise<void>[] = [];
      await datahub.run(['apply', dir], {
        env,
        onStart: (child) => watched.push(untilMore(child).then(() => void child.kill('SIGKILL'))),
      });
      await Promise.all(watched);
    }
    expect(applied).toBeGreaterThan(0);
    expect((await run('apply')).code).toBe(0);
    expect(await run('plan', '--prune')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });

  it.each([
    ['classifier', '/v1/classifiers', 'classifiers:\n', '  - name: NAME\n'],
    ['folder', '/folders', 'folders:\n', '  - NAME\n'],
    ['source', '/v1/sources', 'sources:\n', undefined],
  ])('creates a %s once if two applies create it at the same time', async (kind, route, above, line) => {
    const { table, run, change, env } = await copyExample(`both-${kind}`, engine);
    await withTable(engine, table);
    expect((await run('apply')).code).toBe(0);
    const name = `Both ${kind} ${suffix}`;
    await change('hub.yaml', (text) => {
      const source = /sources:\n([\s\S]*?)folders:/.exec(text)?.[1] as string;
      const added = line ?? source.replace('label: Orders', 'label: NAME');
      return text.replace(above, above + added.replace('NAME', name));
    });
    // Both create it after both have planned to, because the first one waits for the second.
    const waiting: (() => void)[] = [];
    const meet = createServer(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      if (req.method === 'POST' && req.url?.endsWith(route) === true)
        await new Promise<void>((resolve) => {
          if (waiting.push(resolve) === 2) for (const release of waiting) release();
        });
      const headers = { 'x-service-api-key': env.DATAHUB_API_KEY, 'content-type': 'application/json' };
      const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
      const answer = await fetch(url + req.url, { method: req.method ?? '', headers, ...body });
      for (const [header, value] of answer.headers)
        if (['content-type', 'etag', 'x-total-count'].includes(header)) res.setHeader(header, value);
      res.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
    });
    await new Promise<void>((resolve) => meet.listen(0, '127.0.0.1', resolve));
    const near = `http://127.0.0.1:${(meet.address() as AddressInfo).port}`;
    const dir = join(datahub.dir, `both-${kind}`);
    const apply = () => datahub.run(['apply', dir], { env: { ...env, DATAHUB_URL: near } });
    const both = await Promise.all([apply(), apply()]);
    meet.close();
    expect(waiting.length).toBe(2);
    expect(both.map(({ code }) => code).sort()).toEqual([0, 5]);
    expect(both.find(({ code }) => code === 5)?.stderr).toContain(`created the ${kind} ${name} at the same`);
    expect((await run('apply')).code).toBe(0);
    expect(await run('plan', '--prune')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    const classifiers = await api.ok(api.get('/v1/classifiers'));
    const mine = classifiers.filter((one: { name: string }) => one.name === name);
    expect(mine).toHaveLength(kind === 'classifier' ? 1 : 0);
    for (const { classifierId } of mine) await api.delete(`/v1/classifiers/${classifierId}`);
  });

  it('lets one of two applies at once win, and the other say so', async () => {
    const { table, run } = await copyExample('twice', engine);
    await withTable(engine, table);
    const both = await Promise.all([run('apply'), run('apply')]);
    const lost = both.filter(({ code }) => code !== 0);
    for (const { code, stderr } of lost)
      expect([code, stderr]).toEqual([5, expect.stringContaining('un this again')]);
    expect(lost.length).toBeLessThan(2);
    expect((await run('apply')).code).toBe(0);
    expect(await run('plan', '--prune')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });
});
