import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { expect, it } from 'vitest';
import { createScram } from '../../../src/engines/shared/scram.ts';

const compress = promisify(gzip);

/** Answers the first message of a server that requests so many rounds. */
async function logIn(rounds: number): Promise<void> {
  const scram = createScram('secret', ['SCRAM-SHA-256'], undefined);
  const nonce = scram?.first.split('r=')[1];
  await scram?.answer(`r=${nonce}server,s=c2FsdA==,i=${rounds}`);
}

it.each([
  ['few', 4_096],
  ['many', 200_000],
])('leaves threads for compression while many log-ins need %s rounds', async (_few, rounds) => {
  let done = 0;
  const logIns = Array.from({ length: 16 }, () => logIn(rounds).then(() => done++));
  // Behind more of them than there are threads, this would be the last.
  await compress(Buffer.alloc(1_000));
  expect(done).toBeLessThan(8);
  await Promise.all(logIns);
});

it('derives no keys for a connection that has closed before its turn', async () => {
  const scram = createScram('secret', ['SCRAM-SHA-256'], undefined);
  const nonce = scram?.first.split('r=')[1];
  const answer = scram?.answer(`r=${nonce}server,s=c2FsdA==,i=1000000`, () => false);
  await expect(answer).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
});
