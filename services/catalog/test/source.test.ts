import { expect, it } from 'vitest';
import { expectLinear } from '../../../tests/support/growth.ts';
import { makeSource } from '../src/source.ts';

it('a file of TLS with NULs inside is refused in time linear in its length', async () => {
  const make = (ca: string) =>
    makeSource(
      {
        hubId: 'h',
        parentNodeId: 'n',
        label: 'x',
        engine: 'mysql',
        settings: { host: 'db', database: 'd', user: 'u', password: 'p', tls: { mode: 'require', ca } },
      },
      {
        accountId: 'a',
        createId: () => 'src.1',
        nowMs: 1,
        seal: () => Promise.reject(new Error('not reached')),
      },
    );
  const refused = (size: number) =>
    expect(make(`-----BEGIN CERTIFICATE-----${'\0'.repeat(size)}x`)).rejects.toMatchObject({
      code: 'VALIDATION',
    });
  await expectLinear(refused, 131_072);
});
