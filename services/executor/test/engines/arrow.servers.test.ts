/** Values in Arrow are those of the value contract, read by PyArrow, Polars and DuckDB. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canReadArrow, type ReadValue, readArrow } from '../../../../tools/arrow-readers.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { columnsOf } from '../cases/mysql-values.ts';
import { cases, setUp } from '../cases/postgres-values.ts';
import type { ValueCase } from '../cases/value-case.ts';
import { ask, connect, operateMysql } from '../fixture.ts';

/** Values that no type of Arrow holds. */
const misfits = /infinity| BC$|^294276-|^24:00:00/i;
/** Values that Arrow holds, but Python's `date` does not. */
const beyondPython = /^5874897-/;

const literal = (value: string, prefix = '') =>
  `${prefix}'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const isTime = ({ type }: ValueCase) => /^(date|time)/i.test(type) && !type.includes('[');
const isMisfit = (one: ValueCase) =>
  misfits.test(one.value) && (isTime(one) || one.type.toLowerCase().startsWith('numeric('));

const micros = (text: string) => {
  const [whole = '', fraction = ''] = text.replace(/Z$/, '').split('.');
  return `${whole}.${fraction.padEnd(6, '0')}`;
};

/** What a reader returns for a value, from its JSON and the type that the reader found. */
function expected({ json, strings = json, type, document }: ValueCase, read: ReadValue): ReadValue {
  const text = strings.startsWith('"') ? (JSON.parse(strings) as string) : strings;
  if ((json === 'null' && !document) || typeof read === 'boolean') return JSON.parse(json);
  if (typeof read === 'string' || read === null) return json.startsWith('"') && !document ? text : json;
  const [name] = Object.keys(read);
  if (name === 'float') {
    const value = Number(text);
    return { float: /^(real|float)/i.test(type) ? Math.fround(value) : value };
  }
  if (name === 'timestamp') return { timestamp: micros(text) + (text.endsWith('Z') ? 'Z' : '') };
  if (name === 'time') return { time: micros(text) };
  if (name === 'micros') {
    const [, minus, hours, minutes, seconds] = /^(-?)(\d+):(\d+):(.*)$/.exec(text) ?? [];
    const value = Math.round(((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1e6);
    return { micros: minus ? -value : value };
  }
  return { [name as string]: text };
}

const asNumber = (value: ReadValue | undefined): ReadValue | undefined =>
  typeof value === 'object' && value !== null && 'float' in value
    ? { float: Number(String(value.float).replace('inf', 'Infinity').replace('nan', 'NaN')) }
    : value;

function expectReadable(stream: Buffer, wanted: readonly ValueCase[]) {
  for (const [reader, [values = [], nulls]] of Object.entries(readArrow(stream))) {
    for (const [i, one] of wanted.entries())
      expect([reader, one.type, asNumber(values[i])]).toEqual([
        reader,
        one.type,
        expected(one, values[i] ?? null),
      ]);
    expect(nulls).toEqual(wanted.map(() => null));
  }
}

describe.skipIf(process.env.POSTGRES_URL === undefined)('Arrow from PostgreSQL', () => {
  const schema = 'hub_arrow';
  let connection: Connection;
  const command = (text: string) => ask(connection, text, { kind: 'standalone' });
  const all = cases.map((one) => ({ ...one, type: one.type.replace('value_', `${schema}.value_`) }));
  const readable = all.filter((one) => !isMisfit(one) && !beyondPython.test(one.value));

  beforeAll(async () => {
    connection = await connect('postgres', process.env.POSTGRES_URL as string);
    await command(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await command(`CREATE SCHEMA ${schema}`);
    for (const text of setUp) await command(text.replace('value_', `${schema}.value_`));
    await command(`CREATE TABLE ${schema}.t (${readable.map(({ type }, i) => `c${i} ${type}`).join(', ')})`);
    const values = readable.map(({ type, value }) => `${literal(value, 'E')}::${type}`);
    await command(`INSERT INTO ${schema}.t VALUES (${values.join(', ')})`);
    await command(`INSERT INTO ${schema}.t (c0) VALUES (NULL)`);
  });
  afterAll(async () => {
    await command(`DROP SCHEMA ${schema} CASCADE`);
    connection.close();
  });

  it.runIf(canReadArrow())('has the value of each type, and NULL', async () => {
    const { bytes } = await ask(connection, `SELECT * FROM ${schema}.t ORDER BY c0 NULLS LAST`, {
      format: 'arrow',
    });
    expectReadable(bytes, readable);
  });

  it.each(all.filter(isMisfit))('refuses $type $value', async ({ type, value }) => {
    const failing = ask(connection, `SELECT ${literal(value, 'E')}::${type} AS v`, { format: 'arrow' });
    await expect(failing).rejects.toMatchObject({
      code: 'CONTRACT_BROKEN',
      message: expect.stringContaining('"v"'),
    });
  });
});

describe.each([
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
] as const)('Arrow from %s', (engine, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const columns = columnsOf(engine);
    const write = (text: string) => ask(connection, text, { kind: 'standalone' });

    beforeAll(async () => {
      connection = await connect(engine, url as string);
      await write('DROP TABLE IF EXISTS hub_arrow');
      const types = columns.map(({ type }, i) => `c${i} ${type}`);
      await write(`CREATE TABLE hub_arrow (n INT, ${types.join(', ')}) CHARACTER SET utf8mb4`);
      const values = columns.map(({ value, wrap }) => wrap(literal(value)));
      // MySQL refuses the zero dates of the hub's session.
      await operateMysql(url as string, [
        "SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES'",
        `INSERT INTO hub_arrow VALUES (1, ${values.join(', ')})`,
        'INSERT INTO hub_arrow (n) VALUES (2)',
      ]);
    });
    afterAll(async () => {
      await write('DROP TABLE hub_arrow');
      connection.close();
    });

    it.runIf(canReadArrow())('has the value of each type, and NULL', async () => {
      const names = columns.map((_, i) => `c${i}`).join(', ');
      const { bytes } = await ask(connection, `SELECT ${names} FROM hub_arrow ORDER BY n`, {
        format: 'arrow',
      });
      expectReadable(bytes, columns);
    });
  });
});
