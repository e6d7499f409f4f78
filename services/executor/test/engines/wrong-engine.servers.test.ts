/** A server of another engine than the source names is reported as such, long before the connection times out. */

import type { EngineName } from '@datahub/contract/engines';
import { expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import { dial, settingsOf } from '../fixture.ts';

const pairs: [EngineName, string | undefined, string][] = [
  ['postgres', process.env.MARIADB_URL, 'is MySQL or MariaDB'],
  ['mariadb', process.env.POSTGRES_URL, 'is PostgreSQL'],
  ['mysql', process.env.POSTGRES_URL, 'is PostgreSQL'],
];

for (const [engine, url, found] of pairs) {
  it.skipIf(url === undefined)(`a source for ${engine} whose server ${found} is told so`, async () => {
    const adapter = createEngines()[engine];
    const opening = adapter.connect(settingsOf(engine, url as string), {
      dial,
      // None of the servers ends the connection before.
      signal: new AbortController().signal,
    });
    await expect(opening).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
      message: expect.stringContaining(found),
    });
  });
}
