import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect } from '../../fixture.ts';

const servers: { engine: EngineName; url: string | undefined }[] = [
  { engine: 'mariadb', url: process.env.MARIADB_URL },
  { engine: 'mysql', url: process.env.MYSQL_URL },
];

/** Some have the bits as bytes, and others digits; which ones differs between the servers and their versions. */
const expressions = [
  'v',
  '(SELECT v FROM hub_bits)',
  'max(v)',
  'coalesce(v, v)',
  'ifnull(v, v)',
  'CASE WHEN 1 = 1 THEN v END',
  'if(1 = 1, v, v)',
  'greatest(v, v)',
  'nullif(v, 0)',
  'max(v) OVER ()',
];
const whole = [
  'SELECT v AS x FROM hub_bits UNION SELECT v FROM hub_bits',
  'SELECT x FROM (SELECT coalesce(v, v) AS x FROM hub_bits LIMIT 1) AS t',
  'SELECT x FROM (SELECT coalesce(v, v) AS x FROM hub_bits) AS t',
  'SELECT x FROM (SELECT v AS x FROM hub_bits) AS t',
  'WITH t AS (SELECT if(1 = 1, v, v) AS x FROM hub_bits) SELECT x FROM t',
  'SELECT x FROM hub_bits_view',
];
const statements = [...expressions.map((one) => `SELECT ${one} AS x FROM hub_bits`), ...whole];

describe.each(servers)('BIT on $engine', ({ engine, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const write = (text: string) => ask(connection, text, { kind: 'standalone' });
    const store = async (width: number, value: bigint) => {
      await write('DROP TABLE IF EXISTS hub_bits');
      await write(`CREATE TABLE hub_bits (v bit(${width}))`);
      await write(`INSERT INTO hub_bits VALUES (${value})`);
      await write('CREATE OR REPLACE VIEW hub_bits_view AS SELECT ifnull(v, v) AS x FROM hub_bits');
    };

    beforeAll(async () => {
      connection = await connect(engine, url as string);
    });
    afterAll(async () => {
      await write('DROP VIEW IF EXISTS hub_bits_view');
      await write('DROP TABLE IF EXISTS hub_bits');
      connection.close();
    });

    it.each([
      [5, 21n],
      [12, 21n],
      [16, 300n],
      [16, 0x80ffn],
      [33, 2n ** 33n - 1n],
      [64, 2n ** 64n - 1n],
    ])('(%i) of an expression has the bits of the column', async (width, value) => {
      await store(width, value);
      const bits = value.toString(2).padStart(width, '0');
      for (const text of statements)
        expect([text, (await ask(connection, text)).data]).toEqual([text, [{ x: bits }]]);
    });

    it('of an expression is refused if its bytes can be read in two ways', async () => {
      await store(16, 21n);
      const refused = expect.objectContaining({ code: 'SQL_REJECTED' });
      await expect(ask(connection, 'SELECT coalesce(v, v) AS x FROM hub_bits')).rejects.toEqual(refused);
      expect((await ask(connection, 'SELECT coalesce(v, v) + 0 AS x FROM hub_bits')).data).toEqual([
        { x: 21 },
      ]);
      expect((await ask(connection, 'SELECT v AS x FROM hub_bits')).data).toEqual([
        { x: '0000000000010101' },
      ]);
    });

    it.each([5n, 49n, 54n])(
      'of 8 bits behind a view, or among wider ones, is %i or refused',
      async (value) => {
        await store(8, value);
        await write('ALTER TABLE hub_bits ADD w bit(16)');
        const texts = [
          'SELECT x FROM hub_bits_view',
          'SELECT x FROM (SELECT coalesce(v, v) AS x FROM hub_bits) AS t',
          'SELECT CASE WHEN v > 0 THEN v ELSE w END AS x FROM hub_bits',
        ];
        for (const text of texts)
          await ask(connection, text).then(
            ({ data }) => expect(BigInt(`0b${data?.[0]?.x}`)).toBe(value),
            (err) => expect(err).toMatchObject({ code: 'SQL_REJECTED' }),
          );
      },
    );

    it.each(['if(v > 0, v, 0)', 'CASE WHEN v > 0 THEN v ELSE 1.5 END', 'nullif(if(v > 0, v, 0), 1)'])(
      'among numbers, %s, is the number or refused, and never the bytes of the bits',
      async (expression) => {
        for (const [width, value] of [
          [8, 5n],
          [8, 0x85n],
          [64, BigInt(`0x${Buffer.from('","x":"1').toString('hex')}`)],
        ] as const) {
          await store(width, value);
          const whole = await ask(connection, `SELECT ${expression} + 0 AS x FROM hub_bits`);
          await ask(connection, `SELECT ${expression} AS x FROM hub_bits`).then(
            ({ data }) => expect(Number(data?.[0]?.x)).toBe(Number(whole.data?.[0]?.x)),
            (err) => expect(err).toMatchObject({ code: 'SQL_REJECTED', message: /BIT/ }),
          );
        }
      },
    );

    it('does not keep padded digits of an IF from being JSON', async () => {
      await write('CREATE TABLE hub_padded (v decimal(6, 2) ZEROFILL, i int(8) ZEROFILL)');
      try {
        await write('INSERT INTO hub_padded VALUES (1.5, 7), (0, 0)');
        const text = 'SELECT if(1 = 1, v, 0) AS v, if(1 = 1, i, 1.5) AS i FROM hub_padded ORDER BY v DESC';
        const { data = [] } = await ask(connection, text);
        expect(data.map((row) => [Number(row.v), Number(row.i)])).toEqual([
          [1.5, 7],
          [0, 0],
        ]);
      } finally {
        await write('DROP TABLE hub_padded');
      }
    });
  });
});
