/** The schema of a source has its keys, comments and estimates of rows. */

import type { EngineName } from '@datahub/contract/engines';
import { describe, expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import { ask, dial, settingsOf } from '../fixture.ts';

const { env } = process;
const servers: [string, EngineName, string | undefined][] = [
  ['PostgreSQL', 'postgres', env.POSTGRES_URL],
  ['PostgreSQL 18', 'postgres', env.POSTGRES18_URL],
  ['MySQL', 'mysql', env.MYSQL_URL],
  ['MariaDB', 'mariadb', env.MARIADB_URL],
];

const [orders, lines, view] = ['orders', 'lines', 'open'].map((name) => `schema_${name}_${process.pid}`);
const long = 'x'.repeat(300);
const made = {
  postgres: [
    `CREATE TABLE ${orders} (area INT, no INT, PRIMARY KEY (no, area))`,
    `CREATE TABLE ${lines} (id INT PRIMARY KEY, order_no INT, order_area INT, parent INT REFERENCES ${lines} (id),
      CONSTRAINT of_order FOREIGN KEY (order_no, order_area) REFERENCES ${orders} (no, area))`,
    `CREATE VIEW ${view} AS SELECT no FROM ${orders}`,
    `COMMENT ON TABLE ${orders} IS 'it''s "theirs"'`,
    `COMMENT ON COLUMN ${orders}.area IS '${long}'`,
    `INSERT INTO ${orders} SELECT 1, n FROM generate_series(1, 30) AS n`,
    `ANALYZE ${orders}`,
  ],
  mysql: [
    `CREATE TABLE ${orders} (area INT COMMENT '${long}', no INT, PRIMARY KEY (no, area)) COMMENT 'it''s "theirs"'`,
    `CREATE TABLE ${lines} (id INT PRIMARY KEY, order_no INT, order_area INT, parent INT,
      CONSTRAINT parent_${process.pid} FOREIGN KEY (parent) REFERENCES ${lines} (id),
      CONSTRAINT of_order_${process.pid} FOREIGN KEY (order_no, order_area) REFERENCES ${orders} (no, area))`,
    `CREATE VIEW ${view} AS SELECT no FROM ${orders}`,
    `INSERT INTO ${orders} VALUES ${Array.from({ length: 30 }, (_, i) => `(1, ${i + 1})`)}`,
    // Both keep old figures for a while.
    `ANALYZE TABLE ${orders}`,
  ],
};

for (const [name, engine, url] of servers) {
  describe.skipIf(url === undefined)(`the schema of ${name}`, () => {
    it('has keys, comments and estimates of rows', async () => {
      const deps = { dial, comments: false, signal: AbortSignal.timeout(60_000) };
      const connection = await createEngines()[engine].connect(settingsOf(engine, url as string), deps);
      const change = (sql: string) => ask(connection, sql, { kind: 'standalone' });
      try {
        for (const sql of made[engine === 'postgres' ? 'postgres' : 'mysql']) await change(sql);
        const { tables } = await connection.readSchema();
        const [first, second, third] = [orders, lines, view].map((one) =>
          tables.find((table) => table.name === one),
        );
        expect(first).toEqual({
          schema: expect.any(String),
          name: orders,
          kind: 'table',
          columns: [
            {
              name: 'area',
              type: expect.stringMatching(/^int/),
              nullable: false,
              comment: long.slice(0, 200),
            },
            { name: 'no', type: expect.stringMatching(/^int/), nullable: false, comment: undefined },
          ],
          comment: 'it\'s "theirs"',
          rowEstimate: expect.any(Number),
          primaryKey: ['no', 'area'],
          foreignKeys: [],
        });
        const { schema } = first ?? {};
        expect(second?.foreignKeys).toHaveLength(2);
        expect(second).toMatchObject({
          primaryKey: ['id'],
          foreignKeys: expect.arrayContaining([
            { columns: ['parent'], schema, table: lines, referencedColumns: ['id'] },
            { columns: ['order_no', 'order_area'], schema, table: orders, referencedColumns: ['no', 'area'] },
          ]),
        });
        expect(third).toMatchObject({ kind: 'view', primaryKey: [], foreignKeys: [] });
        expect([third?.comment, third?.rowEstimate]).toEqual([undefined, undefined]);
      } finally {
        await change(`DROP VIEW IF EXISTS ${view}`);
        await change(`DROP TABLE IF EXISTS ${lines}`);
        await change(`DROP TABLE IF EXISTS ${orders}`);
        connection.close();
      }
    });
  });
}
