/** Describes and runs generated SELECTs. Rows must match the nullability and the types of the description. */

import type { EngineName } from '@datahub/contract/engines';
import type { DescribeQueryResponse } from '@datahub/proto/executor/v1/executor';
import type { HubError } from '@datahub/service-kit/call/error';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { createEngines } from '../../src/engines/index.ts';
import { describeQuery } from '../../src/execution/describe.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { createGenerator, type Generated, setUp, tearDown } from '../cases/selects.ts';
import { ask, dial, operateMysql, settingsOf } from '../fixture.ts';

const servers: { engine: EngineName; url: string | undefined }[] = [
  { engine: 'postgres', url: process.env.POSTGRES_URL },
  { engine: 'mariadb', url: process.env.MARIADB_URL },
  { engine: 'mysql', url: process.env.MYSQL_URL },
];

/** The number of statements to run. */
const wanted = scaled(600, 20_000);
const seed = 20_261_122;

type Row = Record<string, unknown>;

describe.each(servers)('signatures on $engine', ({ engine, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const runAll = async (texts: string[]) => {
      for (const text of texts) await ask(connection, text, { kind: 'standalone' });
    };

    beforeAll(async () => {
      connection = (await createEngines()[engine].connect(settingsOf(engine, url as string), {
        dial,
        signal: AbortSignal.timeout(60_000),
      })) as Connection;
      const texts = [...tearDown(engine), ...setUp(engine)];
      if (engine === 'postgres') await runAll(texts);
      // Its zero dates are refused by MySQL's own modes.
      else await operateMysql(url as string, ["SET sql_mode = ''", ...texts]);
    });
    afterAll(async () => {
      await runAll(tearDown(engine));
      connection.close();
    });

    const compile = ({ text, idsType }: Pick<Generated, 'text' | 'idsType'>) => {
      const variables = idsType === undefined ? [] : [{ key: 'ids', type: idsType }];
      const definition = { queryId: 'q', version: 1, text, command: 'SELECT', variables, source: { engine } };
      return compileQuery(definition as unknown as QueryDefinition);
    };

    const describeText = (generated: Pick<Generated, 'text' | 'idsType'>) =>
      describeQuery(
        compile(generated),
        { version: 1, notNull: [] },
        {
          describe: (form) => connection.describe(form),
          nowMs: () => 0,
        },
      );

    /** Resolves to undefined if the database rejects the statement or takes too long. */
    const run = async (generated: Generated): Promise<Row[] | undefined> => {
      const contextJson = JSON.stringify(generated.context);
      const statement = compile(generated).bind({ pinnedJson: '', contextJson });
      try {
        return (await ask(connection, statement.text, { ...statement, key: statement.text })).data as Row[];
      } catch (err) {
        expect(['SQL_REJECTED', 'STATEMENT_TIMEOUT']).toContain((err as HubError).code);
        return undefined;
      }
    };

    if (engine === 'postgres')
      it('do not rely on a function that the database redefines', async () => {
        const drop = 'DROP SCHEMA IF EXISTS nl_own CASCADE';
        const nullable = async () => {
          const { columns } = await describeText({ text: "SELECT initcap('a') AS a", idsType: undefined });
          return columns.map((column) => column.nullable);
        };
        await runAll([drop]);
        expect(await nullable()).toEqual([false]);
        await runAll([
          'CREATE SCHEMA nl_own',
          'CREATE FUNCTION nl_own.initcap(int) RETURNS int LANGUAGE sql AS $$ SELECT NULL::int $$',
        ]);
        expect(await nullable()).toEqual([true]);
        await runAll([drop]);
      });

    it(`match the rows (${wanted} statements)`, async () => {
      const generate = createGenerator(engine, seed);
      const seen = { tried: 0, runs: 0, rows: 0, notNull: 0, certain: 0, recognized: 0 };
      while (seen.runs < wanted) {
        const generated = generate();
        seen.tried++;
        const rows = await run(generated);
        if (rows === undefined) continue;
        seen.runs++;
        seen.rows += rows.length;
        const { columns } = await describeText(generated).catch((err) => {
          throw new Error(`refused to describe ${generated.text}`, { cause: err });
        });
        check(generated, columns, rows);
        seen.notNull += columns.filter(({ nullable }) => !nullable).length;
        if (generated.isExcluded) continue;
        const certain = generated.columns.flatMap(({ isCertain }, i) => (isCertain ? [columns[i]] : []));
        seen.certain += certain.length;
        seen.recognized += certain.filter((column) => column?.nullable === false).length;
      }
      console.log(`${engine}: ${JSON.stringify(seen)}`);
      expect(seen.rows).toBeGreaterThan(wanted);
      expect(seen.certain).toBeGreaterThan(wanted / 10);
      expect(seen.recognized / seen.certain).toBeGreaterThan(0.8);
    }, 1_800_000);
  });
});

function check({ text }: Generated, columns: DescribeQueryResponse['columns'], rows: Row[]): void {
  for (const [i, { name, nullable, jsonType = '' }] of columns.entries()) {
    // Compares by position, because MySQL can use one name twice if an expression appears twice after DISTINCT.
    const types = new Set(rows.map((row) => typeOf(Object.values(row)[i])));
    const broken = (!nullable && types.has('null')) || [...types].some((type) => !fits(type, jsonType));
    if (broken) throw new Error(`${name} is not ${jsonType}, nullable: ${nullable}, in ${text}`);
  }
}

const typeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const fits = (type: string, jsonType: string) => type === 'null' || jsonType.split('|').includes(type);
