import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Hub, openHub } from '../../services/hub/src/compose.ts';
import { canFuzz, fuzz } from '../../tools/schemathesis.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';

const isInstalled = canFuzz();
if (!isInstalled) {
  process.stderr.write(
    'The OpenAPI document is not fuzzed: `node tools/schemathesis.ts` installs schemathesis.\n',
  );
}

describe.skipIf(!isInstalled)('the OpenAPI document', () => {
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  let dir: string;
  let hub: Hub;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-fuzz-'));
    hub = await openHub({
      ...hubSettings(dir, key),
      DATAHUB_DEMO: '0',
      DATAHUB_RATE_PER_MINUTE: '0',
      DATAHUB_UNKNOWN_KEYS_PER_MINUTE: '1000000',
    });
  });
  afterAll(async () => {
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  it('describes the answers to generated requests', async () => {
    const url = `http://127.0.0.1:${hub.port}`;
    const covers = process.env.TEST_EXTENT !== 'quick';
    const [code, report] = await fuzz({ url, key, examples: scaled(3, 100), covers, workDir: dir });
    expect(code, report).toBe(0);
    expect(report).toMatch(/\d{3,} generated/);
    // Requests without a key must be a few of all.
    expect(report).not.toMatch(/Authentication failed: \d\d+ operation/);
  }, 1_200_000);
});
