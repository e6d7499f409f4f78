/** Runs the workflow files of docs/ci.md as GitHub and GitLab do: their lines, by bash, with the packed command. */

import { execFile, spawn } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { api, engines } from '../support/hub.ts';
import { atDatabase, openPlace } from '../support/hub-files.ts';
import { inherited } from '../support/inherited.ts';

const { copyExample, datahub, withTable } = await openPlace();
const { url } = inject('hub');
const engine = engines[0] as string;
const root = fileURLToPath(new URL('../..', import.meta.url));
const page = await readFile(join(root, 'docs/ci.md'), 'utf8');
const workflows = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => parse(text));
const github = workflows.find((one) => 'jobs' in one);
const gitlab = workflows.find((one) => 'hub' in one);

/** The root of the user's repository. */
const place = datahub.dir;
/** A stand-in for `gh`, which keeps its arguments and the file of the comment. */
const gh = '#!/bin/sh\nprintf "%s\\n" "$@" > gh-arguments\ncat plan.md > comment\n';
/** The comments that GitLab got. */
const posted: { path: string | undefined; token: unknown; body: string }[] = [];
const server = createServer(async (req, res) => {
  let body = '';
  for await (const chunk of req.setEncoding('utf8')) body += chunk;
  posted.push({ path: req.url, token: req.headers['private-token'], body });
  res.writeHead(201).end('{}');
});
afterAll(() => server.close());

let shop: Awaited<ReturnType<typeof copyExample>>;
let env: Record<string, string>;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  shop = await copyExample('workflows', engine);
  await withTable(engine, shop.table);
  await datahub.ok(['apply', shop.dir], { env: shop.env });
  await rename(shop.dir, join(place, 'shop'));
  await mkdir(join(place, 'tools'));
  await mkdir(join(place, 'bin'));
  await writeFile(join(place, 'bin/gh'), gh, { mode: 0o755 });
  const pack = ['run', 'pack', '-w', 'packages/cli', '--', '--pack-destination', join(place, 'tools')];
  const forNpm = { HOME: place, npm_config_update_notifier: 'false', npm_config_offline: 'true' };
  await promisify(execFile)('npm', pack, { cwd: root, env: { ...process.env, ...forNpm } });
  const [, scopes = ''] = /keys create --name ci --scopes (\S+)/.exec(page) ?? [];
  // The example lists a classifier.
  const created = { name: 'ci', scopes: [...scopes.split(','), 'classifiers:read'] };
  const { key } = await api.ok(api.post('/v1/keys', created));
  const { DATAHUB_URL: _, DATAHUB_API_KEY: __, ...ofSource } = shop.env;
  env = { ...inherited, ...forNpm, ...ofSource, DATAHUB_URL: url, DATAHUB_API_KEY: key };
  env.PATH = `${join(place, 'bin')}:${env.PATH}`;
});

const runPlan = () => datahub.run(['plan', join(place, 'shop')], { env: { ...shop.env, ...env } });

async function bash(script: string, more: Record<string, string>) {
  const child = spawn('bash', ['-eo', 'pipefail', '-c', script], { cwd: place, env: { ...env, ...more } });
  let text = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => (text += chunk));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, text };
}

/** GitHub runs each step in a shell of its own, and no step after one that failed. */
async function runGithub() {
  const { env: settings, steps } = github.jobs.check;
  expect(Object.keys(settings)).toEqual(['DATAHUB_URL', 'DATAHUB_API_KEY']);
  let ran = { code: 0 as number | null, text: '' };
  for (const { run } of steps.filter((step: object) => 'run' in step)) {
    ran = await bash(run.replaceAll(/\$\{\{ github\.event\.number \}\}/g, '7'), { GH_TOKEN: 'token' });
    if (ran.code !== 0) break;
  }
  const comment = await readFile(join(place, 'comment'), 'utf8').catch(() => undefined);
  await rm(join(place, 'comment'), { force: true });
  return { ...ran, comment };
}

/** GitLab runs all lines in one shell. */
async function runGitlab() {
  expect(Object.keys(gitlab.hub.variables)).toEqual(['DATAHUB_URL']);
  const ran = await bash(gitlab.hub.script.join('\n'), {
    CI_API_V4_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v4`,
    ...{ CI_PROJECT_ID: '5', CI_MERGE_REQUEST_IID: '9', COMMENT_TOKEN: 'token' },
  });
  const comment = posted.pop();
  if (comment !== undefined)
    expect(comment).toMatchObject({ path: '/api/v4/projects/5/merge_requests/9/notes', token: 'token' });
  return { ...ran, comment: comment?.body };
}

describe.each([
  ['GitHub', runGithub],
  ['GitLab', runGitlab],
])('the workflow for %s', (name, run) => {
  const file = join(place, 'shop/queries/products/revenue.sql');
  let before: string;
  const change = async (text: string, other: string) => {
    before = await readFile(file, 'utf8');
    expect(before).toContain(text);
    await writeFile(file, before.replace(text, other));
  };

  it('comments that nothing changes', async () => {
    const { code, text, comment } = await run();
    expect(code, text).toBe(0);
    expect(comment).toContain('Data Hub: No changes.');
    if (name === 'GitHub')
      expect((await readFile(join(place, 'gh-arguments'), 'utf8')).split('\n')).toEqual([
        'pr',
        'comment',
        '7',
        '--body-file',
        'plan.md',
        '--edit-last',
        '--create-if-none',
        '',
      ]);
  });

  it('comments a change that breaks no caller, and passes', async () => {
    await change(', count(*) AS orders', ', count(*) AS orders, 1 AS more');
    const { code, text, comment } = await run();
    await writeFile(file, before);
    expect(code, text).toBe(0);
    expect(comment).toContain('column more added');
  });

  it('comments a breaking change with its callers, and fails', async () => {
    await change(', count(*) AS orders', '');
    await datahub.ok(['run', `${shop.path}/products/revenue`], { env: shop.env });
    const caller = (await api.ok(api.get('/v1/keys/current'))).keyId;
    const { name: callerName } = (await api.ok(api.get('/v1/keys?limit=1000'))).find(
      (one: { keyId: string }) => one.keyId === caller,
    );
    await expect.poll(async () => (await runPlan()).stdout).toContain(`${callerName} (`);
    const { code, text, comment } = await run();
    await writeFile(file, before);
    expect(code, text).toBe(3);
    expect(comment).toContain('1 to change');
    expect(comment).toContain('BREAKING: column orders removed');
    expect(comment).toContain('in 30 days:');
  });

  it('fails at a query that its database rejects, with file, line and column', async () => {
    await change(shop.table, 'a_table_that_is_gone');
    const { code, text, comment } = await run();
    await writeFile(file, before);
    expect(code).toBe(1);
    expect(text).toMatch(/queries\/products\/revenue\.sql:\d+:\d+: .*a_table_that_is_gone/);
    expect(comment).toBeUndefined();
  });

  it('fails if the database changed under files that stay the same', async () => {
    await atDatabase(engine, `ALTER TABLE ${shop.table} RENAME COLUMN product TO article`);
    const { code, text } = await run();
    await atDatabase(engine, `ALTER TABLE ${shop.table} RENAME COLUMN article TO product`);
    expect(code).toBe(1);
    expect(text).toContain('queries/products/revenue.sql:');
  });
});
