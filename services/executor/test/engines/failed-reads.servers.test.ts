/** A read of which a row cannot be written ends soon, with that failure: the rest of its rows would be read for nothing. */

import type { EngineName } from '@datahub/contract/engines';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import type { RowSink } from '../../src/ports/row-sink.ts';
import { connect } from '../fixture.ts';

const tenOf = (name: string) => `(SELECT 0 AS n${' UNION ALL SELECT 0'.repeat(9)}) AS ${name}`;
const manyOfMysql = ['a', 'b', 'c', 'd', 'e'].map(tenOf).join(', ');
/** Rows for ten minutes and more. */
const many = {
  postgres: "SELECT repeat('x', 20000), pg_sleep(0.01) FROM generate_series(1, 100000)",
  mariadb: `SELECT REPEAT('x', 20000), SLEEP(0.01) FROM ${manyOfMysql}`,
  mysql: `SELECT REPEAT('x', 20000), SLEEP(0.01) FROM ${manyOfMysql}`,
};

it.each([
  ['postgres', process.env.POSTGRES_URL],
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
] as const)('at %s', async (engine, url) => {
  if (url === undefined) return;
  const failure = new HubError('UNAVAILABLE', 'Too many large rows wait for their readers.');
  const sink: RowSink = {
    ...{ takesDocuments: false, takesBinary: false, truncated: false, full: false },
    ...{ begin: () => {}, document: () => {}, onDrain: () => {} },
    row: () => {
      throw failure;
    },
  };
  const connection = await connect(engine as EngineName, url);
  const run = (text: string) =>
    connection.run({ key: text, text, params: [], infersTypes: false, kind: 'read' }, sink, {
      statementTimeoutMs: 20_000,
    });
  await expect(run('SELECT 1 AS one')).rejects.toBe(failure);
  expect(connection.broken).toBe(false);
  await expect(run(many[engine])).rejects.toBe(failure);
  expect(connection.broken).toBe(true);
});
