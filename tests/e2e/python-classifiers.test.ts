/** What a module of `datahub types --python` does with classifiers, texts and annotated rows. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { arrowEnv, canReadArrow } from '../../tools/arrow-readers.ts';
import { api, createSource } from '../support/hub.ts';

const run = promisify(execFile);
const cli = fileURLToPath(new URL('../../services/hub/src/cli.ts', import.meta.url));
const hasPython = await run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))']).then(
  () => true,
  () => false,
);
const name = `mail ${Date.now().toString(36)}`;
let dir: string;
let classifier: string;
const { url: HUB_URL, key: HUB_KEY } = inject('hub');

const python = async (code: string) => {
  await writeFile(join(dir, 'main.py'), code);
  const env = { ...arrowEnv(process.env), HUB_URL, HUB_KEY, PYTHONDONTWRITEBYTECODE: '1' };
  return (await run('python3', [join(dir, 'main.py')], { env, timeout: 60_000 })).stdout.trim().split('\n');
};
const start = `
import os
from hub import Hub, ProblemError
hub = Hub(os.environ["HUB_URL"], os.environ["HUB_KEY"])
`;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-classifiers-'));
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'mails', path: 'mails' }));
  const sourceId = await createSource(hubId);
  const query = "SELECT 1 AS id, 'my parcel is late' AS body UNION ALL SELECT 2, NULL ORDER BY id";
  await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'Mails', query, path: 'all' }));
  classifier = (await api.ok(api.post('/v1/classifiers', { name }))).id;
  const env = { ...process.env, DATAHUB_URL: HUB_URL, DATAHUB_API_KEY: HUB_KEY };
  const { stdout } = await run(process.execPath, [cli, 'types', hubId, '--python'], { env });
  await writeFile(join(dir, 'hub.py'), stdout);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it.runIf(hasPython)('trains, predicts and evaluates by name and id, and summarizes', async () => {
  const lines = await python(`${start}
examples = [("delivery", "my parcel has not arrived"), ("payment", "I was charged twice")]
print([one["observations"] for one in hub.train("${name}", examples)])
for named in ("${name}", "${classifier}"):
    labels = hub.predict(named, ["the parcel is late", "charged again"] * 75)
    print(len(labels), [one["label"] for one in labels[-2:]], 0 < labels[0]["confidence"] <= 1)
print(hub.evaluation("${name}")["examples"] <= 2)
print(hub.summarize(["The parcel is late.", "It has not arrived."]) != "")
print(hub.predict("${name}", []))
try:
    hub.predict("nothing has this name", ["a"])
except LookupError as err:
    print(err)
try:
    hub.predict("dh.clfr.0000000000000000000000", ["a"])
except ProblemError as err:
    print(err.status, err.code)
`);
  expect(lines).toEqual([
    '[1, 1]',
    "150 ['delivery', 'payment'] True",
    "150 ['delivery', 'payment'] True",
    'True',
    'True',
    '[]',
    '0 classifiers have the name nothing has this name.',
    '404 NOT_FOUND',
  ]);
  const [own] = await api.ok(api.get(`/v1/classifiers/${classifier}/examples`));
  expect(own).toMatchObject({ label: expect.any(String) });
});

it.runIf(hasPython)('labels rows', async () => {
  const lines = await python(`${start}
topics = [{"classifier": "${name}", "text": "body", "as": "topic"}]
print([row["topic"] for row in hub.execute("mails/all", {}, annotate=topics)])
print([row["topic"] for row in hub.rows("mails/all", {}, annotate=topics)])
`);
  expect(lines).toEqual(["['delivery', None]", "['delivery', None]"]);
});

it.runIf(hasPython && canReadArrow())('labels data frames', async () => {
  const lines = await python(`${start}
table = hub.frame("mails/all", {}, annotate=[{"classifier": "${name}", "text": "body", "as": "topic"}])
print(table.column_names, table["topic"].to_pylist(), str(table["topicConfidence"].type))
table.validate(full=True)
`);
  expect(lines).toEqual(["['id', 'body', 'topic', 'topicConfidence'] ['delivery', None] double"]);
});
