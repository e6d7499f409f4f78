/** The value contract: the same JSON for the same value on every engine, in every format, written or bound. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMysqlEngine } from '../../src/engines/mysql/index.ts';
import { createPostgresEngine } from '../../src/engines/postgres/index.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { type Column, columnsOf } from '../cases/mysql-values.ts';
import { cases, setUp } from '../cases/postgres-values.ts';
import { toCsv, type ValueCase } from '../cases/value-case.ts';
import { type AskOptions, ask, dial, operateMysql, settingsOf } from '../fixture.ts';

const deps = () => ({ dial, signal: AbortSignal.timeout(60_000) });

/** Only decimals and integers of 64 bits may be digits in quotes. */
const asNumber = ({ type, json }: ValueCase) =>
  /^(numeric|decimal|bigint)/i.test(type) ? json.replaceAll(/"(-?\d[^"]*)"/g, '$1') : json;

/** `select` gives one row of one column `v`. */
async function expectForms(
  connection: Connection,
  select: string,
  wanted: ValueCase,
  asked: AskOptions = {},
) {
  const text = async (more: AskOptions) => (await ask(connection, select, { ...asked, ...more })).text;
  expect(await text({})).toBe(`{"data":[{"v":${wanted.json}}]}`);
  expect(await text({ numbers: 'string' })).toBe(`{"data":[{"v":${wanted.strings ?? wanted.json}}]}`);
  expect(await text({ numbers: 'number' })).toBe(`{"data":[{"v":${asNumber(wanted)}}]}`);
  expect(await text({ format: 'ndjson' })).toBe(`{"v":${wanted.json}}\n`);
  // Readers skip empty lines, so NULL in a result of one column is a pair of quotes, too.
  expect(await text({ format: 'csv' })).toBe(`v\r\n${toCsv(wanted) || '""'}\r\n`);
}

const nothing = (type: string): ValueCase => ({ type, value: '', json: 'null' });

describe.skipIf(process.env.POSTGRES_URL === undefined)('values of PostgreSQL', () => {
  let connection: Connection;
  const command = (text: string) => ask(connection, text, { kind: 'standalone' });

  beforeAll(async () => {
    connection = await createPostgresEngine().connect(
      settingsOf('postgres', process.env.POSTGRES_URL as string),
      deps(),
    );
    await command('DROP SCHEMA IF EXISTS hub_values CASCADE');
    await command('CREATE SCHEMA hub_values');
    for (const text of setUp) await command(text.replace('value_', 'hub_values.value_'));
  });
  afterAll(async () => {
    await command('DROP SCHEMA hub_values CASCADE');
    connection.close();
  });

  const typeOf = ({ type }: ValueCase) => type.replace('value_', 'hub_values.value_');
  const literal = ({ value }: ValueCase) => `E'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

  describe.each(cases)('$type $value', (wanted) => {
    const type = typeOf(wanted);

    it('is the same written, bound and computed', async () => {
      await expectForms(connection, `SELECT ${literal(wanted)}::${type} AS v`, wanted);
      await expectForms(connection, `SELECT $1::text::${type} AS v`, wanted, { params: [wanted.value] });
    });

    it('is null if there is none', () => expectForms(connection, `SELECT NULL::${type} AS v`, nothing(type)));

    if (!wanted.alone)
      it('is an element of arrays', async () => {
        const one = `${literal(wanted)}::${type}`;
        const array = (json: string) => `[[${json},null],[null,${json}]]`;
        await expectForms(connection, `SELECT ARRAY[[${one}, NULL], [NULL, ${one}]]::${type}[] AS v`, {
          type,
          value: '',
          json: array(wanted.json),
          strings: array(wanted.strings ?? wanted.json),
        });
      });
  });
});

const servers = [
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
] as const;

/** MySQL refuses such dates, and has them from times when it did not. */
const isZero = (value: string) => value.startsWith('0000-00-00');

describe.each(servers)('values of %s', (engine, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const columns = columnsOf(engine);
    const list = (each: (column: Column, index: number) => string) => columns.map(each).join(', ');
    const write = async (text: string, asked: AskOptions = {}) => {
      await ask(connection, text, { kind: 'standalone', ...asked });
    };

    beforeAll(async () => {
      connection = await createMysqlEngine().connect(settingsOf(engine, url as string), deps());
      await write('DROP TABLE IF EXISTS hub_values');
      await write(
        `CREATE TABLE hub_values (form VARCHAR(9), ${list(({ type }, i) => `c${i} ${type}`)}) CHARACTER SET utf8mb4`,
      );
      const literal = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
      const stored = ({ value }: Column) => (isZero(value) ? '2026-01-01' : value);
      await write(
        `INSERT INTO hub_values VALUES ('written', ${list((one) => one.wrap(literal(stored(one))))})`,
      );
      await write(`INSERT INTO hub_values VALUES ('bound', ${list(({ wrap }) => wrap('?'))})`, {
        params: columns.map(stored),
      });
      const zeros = columns.flatMap(({ value }, i) => (isZero(value) ? [`c${i} = '${value}'`] : []));
      await operateMysql(url as string, ["SET sql_mode = ''", `UPDATE hub_values SET ${zeros}`]);
      await write(`INSERT INTO hub_values VALUES ('null', ${list(() => 'NULL')})`);
    });
    afterAll(async () => {
      await write('DROP TABLE hub_values');
      connection.close();
    });

    it.each(columns.map((column, i) => ({ ...column, i })))('$type $value', async ({ i, ...wanted }) => {
      const select = (form: string) => `SELECT c${i} AS v FROM hub_values WHERE form = '${form}'`;
      await expectForms(connection, select('written'), wanted);
      await expectForms(connection, select('bound'), wanted);
      await expectForms(connection, select('null'), nothing(wanted.type));
    });
  });
});
