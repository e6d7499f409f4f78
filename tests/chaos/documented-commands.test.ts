/**
 * Runs the commands of README.md and docs/*.md in a shell, exactly as written, from the first start to a restored
 * backup. The last test fails if no test runs a command.
 */

import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Block, blocksOf, pages, patternOf, prepare, root } from './support/documented.ts';
import { openShell, type Shell } from './support/shell.ts';

/** The blocks that this file runs: all of a page, or those that begin with these words. */
const typedHere: Record<string, 'all' | string[]> = {
  'README.md': ['npm ci && npm start', 'KEY=$(cat', 'call /v1/sources'],
  'docs/api.md': 'all',
  'docs/architecture.md': 'all',
  'docs/browser.md': 'all',
  'docs/classifiers.md': 'all',
  'docs/client.md': 'all',
  'docs/configuration.md': 'all',
  'docs/databases.md': ['curl'],
  'docs/definitions.md': 'all',
  'docs/events.md': ['KEY=$(cat', 'call /v1/destinations'],
  'docs/executing.md': 'all',
  'docs/kubernetes.md': ['umask 077'],
  'docs/mcp.md': 'all',
  'docs/operations.md': [
    'npm ci && npm start',
    'npm run datahub -- keys create',
    'npm run datahub -- backup /srv/backups/2',
  ],
  'docs/security.md': 'all',
};
const beginsWith = ({ steps }: Block, words: string) => steps[0]?.command.startsWith(words) === true;
const isTypedHere = (block: Block) => {
  const typed = typedHere[block.page];
  return typed === 'all' || typed?.some((words) => beginsWith(block, words)) === true;
};

/** The block of a page with this index, or the one that begins with these words. */
function blockOf(page: string, at: number | string): Block {
  const blocks = blocksOf(page);
  const found = typeof at === 'number' ? blocks[at] : blocks.find((block) => beginsWith(block, at));
  if (found === undefined) throw new Error(`${page} has no block ${at}.`);
  return found;
}

/** The commands of the other blocks, with a file that runs the same command and words that the file contains. */
const runElsewhere: [RegExp, file: string, words: string][] = [
  [/^npm test$/, '.ci/run', 'npm test'],
  [/^npm run pack -w packages\/cli$/, 'tests/e2e/cli.test.ts', "'pack'"],
  [/^npx --yes \.\/datahub-cli-/, 'tests/e2e/cli.test.ts', "'--yes'"],
  [/^npx datahub (export|check|plan|apply) /, 'tests/e2e/hub-files.test.ts', "run('apply')"],
  [/^npx datahub keys create --name ci /, 'tests/e2e/hub-files.test.ts', 'queries:check,hubs:read'],
  [/^SHOP_DB_HOST=/, 'tests/support/hub-files.ts', 'SHOP_DB_HOST'],
  [/^npx datahub import /, 'tests/e2e/import.test.ts', "'import'"],
  [/^npx datahub (login|whoami|run) ?/, 'tests/e2e/cli.test.ts', 'datahub login'],
  [/^source <\(npx datahub completion/, 'packages/cli/test/derived/derived.test.ts', 'COMP_WORDS'],
  [/^npm run release( |$)/, 'tests/architecture/release-files.test.ts', "release('--set'"],
  [/^git commit --all --message "release/, 'tests/architecture/release-files.test.ts', "'commit'"],
  [/^npm run sbom$/, 'tests/architecture/supply-chain.test.ts', 'tools/sbom.ts'],
  [/^npm run --silent datahub -- types HUB --python /, 'tests/e2e/types.test.ts', "'--python'"],
  [/^npm run datahub -- backup \S+before-upgrade$/, 'tests/chaos/upgrade.test.ts', 'before-upgrade'],
  [/^git pull && npm ci && npm start &$/, 'tests/chaos/upgrade.test.ts', '^git pull'],
  [
    /^npm run datahub -- store forget-credentials( --yes)?$/,
    'tests/chaos/lost-files.test.ts',
    "forget('--yes')",
  ],
  [/^npm run datahub -- store compact$/, 'tests/chaos/operator.test.ts', "'compact'"],
  [/^kill %1; wait$/, 'tests/chaos/documented-commands.test.ts', '\\nwait`'],
  [/^npm start -- --workers auto$/, 'tests/chaos/npm-start.test.ts', 'start -- --workers'],
  [/^npm run start:distributed &$/, 'tests/chaos/npm-start.test.ts', "'start:distributed'"],
  [/ npx node tools\/examples\/grpc-client\.ts /, 'tools/examples/grpc-client.test.ts', './grpc-client.ts'],
  [/^DATAHUB_EDGE=express-gateway /, 'packages/edge/test/edge.test.ts', 'docs/edge.md'],
  [/^curl -i http:\/\/127\.0\.0\.1:8080\/openapi\.json$/, 'packages/edge/test/edge.test.ts', '404'],
  [/^DATAHUB_RDS_IAM_ALLOW=/, 'tests/chaos/rds-iam.test.ts', 'DATAHUB_RDS_IAM_ALLOW'],
  [/^DATAHUB_OIDC_ISSUER=/, 'tests/support/browser/provider.ts', 'DATAHUB_OIDC_ISSUER'],
  [/ npm run datahub -- people grant /, 'tests/e2e/people.test.ts', "'people', 'grant'"],
  [/^curl -s -X PUT https:\/\/hub\.example\/v1\/keys\//, 'tests/e2e/people.test.ts', 'personId: null'],
  [/^DATAHUB_MAIL_URL=/, 'tests/chaos/mail.test.ts', 'DATAHUB_MAIL_SERVER'],
  [/^DATAHUB_AWS_ACCESS_KEY_ID=/, 'tests/chaos/rds-iam.test.ts', 'DATAHUB_AWS_ACCESS_KEY_ID'],
  [/^npx vitest run --project unit tests\/architecture$/, 'vitest.config.ts', 'tests/architecture'],
];

/** Commands that need a cluster, a container engine, Go or minutes. A test checks the files that they use. */
const needsMore: [RegExp, file: string, words: string][] = [
  [/^(export POSTGRES_PASSWORD|docker compose) ?/, 'tests/architecture/images.test.ts', 'compose.yaml'],
  [
    /^(docker (build|run|exec)|for service in|npx node deploy\/stage-image\.ts)/,
    'tests/architecture/images.test.ts',
    'stage-image',
  ],
  [
    /^(kind|kubectl|helm|curl -H "x-service-api-key: \$\(cat \.cache)/,
    'tests/architecture/chart.test.ts',
    'helm',
  ],
  [/^npx node tools\/render-manifests\.ts --tools$/, 'tests/architecture/chart.test.ts', 'render-manifests'],
  [
    /^(useradd|git clone|install -|systemctl|runuser|journalctl|cd \/(?:var\/lib|opt)\/data-hub|\{ npx --prefix|chown --ref)/,
    'tests/architecture/server-files.test.ts',
    'data-hub.service',
  ],
  [/^(go install|grpcurl)/, 'packages/service-kit/test/grpc/reflection.test.ts', 'grpcurl'],
  [/^(PREST=\S+ TOOLBOX=\S+ )?npm run bench -- public$/, 'bench/run.ts', "'public'"],
  [/^npm run bench -- small-execution .*scale\/held-sources$/, 'bench/run.ts', "'scale/held-sources'"],
  [/^npm install --prefix \/tmp\/toolbox /, 'bench/public.ts', 'TOOLBOX'],
  [/^(mkdir -p \/tmp\/prest |printf 'module tools|GOFLAGS=\S+ go build )/, 'bench/public.ts', 'PREST'],
];

let place: string;
let shell: Shell;
const printed: string[] = [];
/** The commands that were typed, as they are written on the pages. */
const typed = new Set<string>();

beforeAll(async () => {
  await mkdir(join(root, '.cache'), { recursive: true });
  // The folder is below the project, so that programs in it find the project's modules.
  place = await mkdtemp(join(root, '.cache', 'newcomer-'));
  const { PATH, HOME, POSTGRES_URL } = process.env;
  const env = { PATH, HOME, POSTGRES_URL, PORT: String(await freePort()), PROJECT: root, PLACE: place };
  shell = await openShell({ cwd: place, env, prepare });
});
afterAll(async () => {
  await shell?.type('kill %% 2>/dev/null; wait').catch(() => {});
  await shell?.close();
  await rm(place, { recursive: true, force: true });
});

/** Returns the last printed id of a kind. */
const lastOf = (kind: string) =>
  printed
    .join('\n')
    .match(new RegExp(`dh\\.${kind}\\.[a-z0-9]+`, 'g'))
    ?.at(-1) ?? '';

/** Replaces the placeholders of an example, as a reader would. */
const fillIn = (command: string) =>
  command
    .replaceAll(/dh\.(key|clfr|q|job)\.(?:06d)?…/g, (_, kind) => lastOf(kind))
    .replace(' types HUB ', ' types Demo ')
    .replaceAll(/(?<= backup )(DIRECTORY|\/\S+)/g, () => join(place, `backup-${printed.length}`));

async function type(command: string, changed = fillIn(command)): Promise<string> {
  typed.add(command);
  const text = await shell.type(changed);
  printed.push(text);
  return text;
}

/** Runs a block, and compares its output with the output on the page. The page must announce problem answers. */
async function typeBlock(page: string, at: number | string): Promise<void> {
  for (const { command, prints } of blockOf(page, at).steps) {
    const text = await type(command);
    const problem = /"type":"urn:datahub:problem.*"code":"(\w+)"/.exec(text)?.[1];
    if (problem !== undefined) expect(command, text).toContain(problem);
    if (prints.length > 0) expect(text.trim()).toMatch(patternOf(prints.join('\n')));
  }
}

const stepsOf = (page: string, at: number | string) => blockOf(page, at).steps.map(({ command }) => command);

describe('the documented commands', () => {
  it('start the hub with the demo, create a key and take a backup', async () => {
    const [start = '', curl = '', create = '', backup = ''] = stepsOf('docs/operations.md', 0);
    expect(start).toContain(blocksOf('README.md')[0]?.steps[0]?.command.split('#')[0]?.trim());
    await type(start);
    await shell.type('ready');
    expect(await type(curl)).toContain('"ready"');
    expect(JSON.parse(await type(create))).toMatchObject({ scopes: ['queries:execute'] });
    expect(await type(backup)).toContain('catalog.db');
    await shell.type('welcomed');
  });

  it('run the example of README.md', () => typeBlock('README.md', 1));

  const pagesWithExamples = ['api', 'executing', 'definitions', 'browser', 'mcp', 'security'].map(
    (name) => `docs/${name}.md`,
  );
  it.each(pagesWithExamples)('run the examples of %s', async (page) => {
    for (const { at } of blocksOf(page)) await typeBlock(page, at);
    if (page !== 'docs/browser.md') return;
    const north = `call /v1/queries/execute '{"queryId": "'$QUERY'", "context": {"region": "north"}}'`;
    expect(printed.at(-1)).toBe(await shell.type(north));
  });

  it('register a database of the reader', async () => {
    const [command = ''] = stepsOf('README.md', 2);
    const { hostname, port, pathname, username, password } = new URL(
      process.env.POSTGRES_URL ?? 'postgres://a:b@127.0.0.1:1/c',
    );
    const own = command
      .replace('127.0.0.1', hostname)
      .replace('5432', port)
      .replace('"database": "shop"', `"database": "${pathname.slice(1)}"`)
      .replace('reader', decodeURIComponent(username))
      .replace('…', decodeURIComponent(password));
    const sourceId = JSON.parse(await type(command, own)).sourceId;
    const tested = await shell.type(`call /v1/sources/${sourceId}/test '{}'`);
    expect(tested).toContain(process.env.POSTGRES_URL === undefined ? 'SOURCE_UNREACHABLE' : '"ok":true');
    const [pooled = ''] = stepsOf('docs/databases.md', 0);
    expect(await type(pooled)).toContain('dh.src.');
  });

  it('watch for new rows, and tell a destination', async () => {
    for (const { command } of blockOf('docs/events.md', 0).steps) await type(command);
    const [runs = '', events = ''] = printed.slice(-2);
    // The watch has a schedule too, which may be due meanwhile.
    expect(JSON.parse(runs)).toContainEqual(expect.objectContaining({ outcome: 'ok', manual: true }));
    expect(JSON.parse(events).events.map(({ type }: { type: string }) => type)).not.toContain('watch.rows');
    const [destination = ''] = stepsOf('docs/events.md', 1);
    expect(await type(destination)).toContain('"secret":"whsec_');
  });

  it('train a classifier with single examples and with a file', async () => {
    await typeBlock('docs/classifiers.md', 0);
    const lines = Array.from({ length: 2_000 }, (_, i) => `delivery,"where is parcel ${i}"`);
    lines[15] = 'delivery,';
    lines[88] = 'delivery';
    await writeFile(join(place, 'tickets.csv'), `label,context\n${lines.join('\n')}\n`);
    await typeBlock('docs/classifiers.md', 1);
    await writeFile(join(place, 'tickets.csv'), `label,context\n${Array(600).fill(lines[0]).join('\n')}\n`);
    const [followed = ''] = stepsOf('docs/classifiers.md', 2);
    const progress = (await type(followed)).trim().split('\n');
    expect(progress.at(-1)).toBe('{"trained":600,"skipped":0,"faults":[]}');
    const [list = '', save = ''] = stepsOf('docs/classifiers.md', 3);
    expect(JSON.parse(await type(list))).toHaveLength(2);
    await type(save);
    expect(await shell.type('head -1 examples.csv')).toMatch(/label,/);
  });

  it('train a classifier with the rows of a query', async () => {
    const query = 'SELECT id AS mail_id, region AS topic, product AS body FROM orders';
    const sources = 'curl -s "http://127.0.0.1:8080/v1/sources?hubId=$HUB" -H "x-service-api-key: $KEY"';
    await shell.type(`SOURCE=$(${sources} | first src)`);
    const stored = `call /v1/queries '{"hubId": "'$HUB'", "sourceId": "'$SOURCE'", "label": "Mail", "query": "${query}"}'`;
    const answer = await shell.type(stored);
    expect(answer).toContain('dh.q.');
    printed.push(answer);
    const [start = '', ask = ''] = stepsOf('docs/classifiers.md', 5);
    expect(await type(start)).toMatch(/^\{"jobId":"dh\.job\./);
    await expect.poll(() => type(ask), { timeout: 60_000, interval: 500 }).toContain('"state":"done"');
    const [labelNext = ''] = stepsOf('docs/classifiers.md', 4);
    expect(await type(labelNext)).toMatch(/^\[\{"context":/);
  });

  it('install the client, and write the types of a hub', async () => {
    await typeBlock('docs/client.md', 0);
    const program = "import { createClient } from '@datahub/client'; console.log(typeof createClient)";
    expect(await shell.type(`(cd yours && node --input-type=module -e "${program}")`)).toBe('function\n');
    await typeBlock('docs/client.md', 1);
    expect(await shell.type('cat hub.ts')).toContain('export const');
  });

  it('create, list, rotate and revoke keys on the command line', async () => {
    const [
      create = '',
      whoami = '',
      list = '',
      rotate = '',
      revoke = '',
      account = '',
      sealing = '',
      backup = '',
    ] = stepsOf('docs/operations.md', 'npm run datahub -- keys create');
    const made = JSON.parse(await type(create));
    expect(await type(whoami)).toContain('scopes   *');
    expect(await type(list)).toContain(made.keyId);
    printed.push(made.keyId);
    const rotated = JSON.parse(await type(rotate));
    const statusOf = (key: string) =>
      shell.type(
        `curl -s -o /dev/null -w '%{http_code}' -H 'x-service-api-key: ${key}' http://127.0.0.1:8080/v1/keys/current`,
      );
    expect(await statusOf(rotated.key)).toBe('200');
    expect(await statusOf(made.key)).toBe('200');
    printed.push(rotated.keyId);
    await type(revoke);
    expect(JSON.parse(await type(account)).accountId).not.toBe(made.accountId);
    expect(await type(sealing)).toContain('DATAHUB_SEALING_P');
    expect(await type(backup)).toContain('ml.db');
  });

  it('restart the hub, and restore a backup', async () => {
    const [backup = ''] = stepsOf('docs/operations.md', 'npm run datahub -- backup /srv/backups/2');
    const copy = fillIn(backup).replace(/.* backup (\S+).*/, '$1');
    await type(backup);
    const run = `call /v1/queries/execute '{"queryId": "'$QUERY'", "context": {"region": "north"}}'`;
    const before = await shell.type(run);
    expect(before).toContain('"data"');
    const stop = stepsOf('docs/operations.md', 0).at(-1) ?? '';
    await shell.type(`${stop}\nwait`);
    await shell.type(`mkdir old && mv data/catalog.db* data/ml.db* old && cp ${copy}/*.db data`);
    await shell.type(': > start.log');
    await type('npm start &');
    await shell.type('welcomed');
    expect(await shell.type(run)).toBe(before);
    await shell.type(`${stop}\nwait`);
  });

  it('start the hub with settings', async () => {
    const [command = ''] = stepsOf('docs/configuration.md', 0);
    const own = command.replace('/tmp/hub', join(place, 'other')).replace('PORT=8090', '');
    await type(command, `${own} &`);
    await shell.type('ready');
    await shell.type('kill %1\nwait');
    expect(existsSync(join(place, 'other', 'catalog.db'))).toBe(true);
  });

  it('create the secrets of a cluster', () => typeBlock('docs/kubernetes.md', 'umask 077'));

  it('print the files that a request runs through, no more than the page says', async () => {
    const [start = '', files = ''] = stepsOf('docs/architecture.md', 0);
    expect(start).toMatch(/^npm ci && npm start /);
    const printed = await type(files);
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const rows = [...page.matchAll(/^\| (A [a-z ]+) \| (\d+) \|$/gm)];
    expect(rows).toHaveLength(3);
    for (const [, name, most] of rows) {
      const count = Number(new RegExp(`^${name}: (\\d+) files$`, 'm').exec(printed)?.[1]);
      expect(count, name).toBeLessThanOrEqual(Number(most));
      // The page is not far off.
      expect(count, name).toBeGreaterThan(Number(most) - 10);
    }
  });
});

describe('each command of the pages', () => {
  const others = pages
    .flatMap(blocksOf)
    .filter((block) => !isTypedHere(block))
    .flatMap(({ page, steps }) =>
      steps.map(({ command }) => [page, command.replace(/\s+# .*$/s, '')] as const),
    );
  const known = [...runElsewhere, ...needsMore];

  it.each(others)('is run by a test: %s: %s', (_page, command) => {
    const found = known.find(([pattern]) => pattern.test(command));
    expect(found, 'no rule says what runs it').toBeDefined();
    const [, file, words] = found as (typeof known)[number];
    expect(readFileSync(join(root, file), 'utf8')).toContain(words);
  });

  it('matches each rule', () => {
    const unused = known.filter(([pattern]) => !others.some(([, command]) => pattern.test(command)));
    expect(unused.map(([pattern]) => String(pattern))).toEqual([]);
  });

  it('is typed here if its block is listed', () => {
    const [start = '', ...others] = stepsOf('docs/operations.md', 0);
    // The start of other pages is the same, and the last step stops the hub at the end.
    const same = [start.slice(0, 'npm ci && npm start'.length), others.at(-1) ?? ''];
    const steps = pages
      .flatMap(blocksOf)
      .filter(isTypedHere)
      .flatMap(({ page, steps }) => steps.map(({ command }) => [page, command] as const));
    const missing = steps.filter(
      ([, command]) => !typed.has(command) && !same.some((one) => command.startsWith(one)),
    );
    expect(missing).toEqual([]);
    const places = Object.entries(typedHere).flatMap(([page, at]) =>
      (at === 'all' ? [0] : at).map((one) => blockOf(page, one)),
    );
    expect(places).not.toContain(undefined);
  });
});
