/** A refused log-in says so also if many are refused at once: the server closes the connection behind its refusal. */

import type { EngineName } from '@datahub/contract/engines';
import { expect, it } from 'vitest';
import { connect } from '../../fixture.ts';

it.each<[EngineName, string | undefined]>([
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
])('at %s', async (engine, url) => {
  if (url === undefined) return;
  const wrong = new URL(url);
  wrong.password = 'wrong';
  for (let round = 0; round < 10; round++) {
    const refused = Array.from({ length: 12 }, () => connect(engine, wrong.href).catch((err) => err.code));
    expect(new Set(await Promise.all(refused))).toEqual(new Set(['SOURCE_AUTH']));
  }
});
