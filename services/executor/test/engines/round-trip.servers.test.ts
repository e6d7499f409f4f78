/** No value changes on its way: bound by the hub, taken by the database, and written into the answer. */

import type { EngineName } from '@datahub/contract/engines';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { kinds } from '../cases/round-trip.ts';
import { ask, connect } from '../fixture.ts';

const servers: { engine: EngineName; url: string | undefined }[] = [
  { engine: 'postgres', url: process.env.POSTGRES_URL },
  { engine: 'mariadb', url: process.env.MARIADB_URL },
  { engine: 'mysql', url: process.env.MYSQL_URL },
];

/** Of 50,000 in all for each engine. */
const runs = scaled(200, Math.ceil(50_000 / kinds.length));

describe.each(servers)('values on $engine', ({ engine, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;

    beforeAll(async () => {
      connection = await connect(engine, url as string);
    });
    afterAll(() => connection.close());

    /** Compiled once, as the hub does it; gives the text of the answer. */
    const compile = (text: string, type?: string) => {
      const variables = type === undefined ? [] : [{ key: 'v', type }];
      const definition = {
        queryId: `${type} ${text}`,
        version: 1,
        text,
        command: 'SELECT',
        variables,
        source: { engine },
      };
      const compiled = compileQuery(definition as unknown as QueryDefinition);
      return async (json: string) => {
        const statement = compiled.bind({ pinnedJson: '', contextJson: `{"v":${json}}` });
        return (await ask(connection, statement.text, { ...statement })).text;
      };
    };

    // Documents of MySQL keep their numbers as doubles.
    it.each(kinds.filter(({ name }) => engine !== 'mysql' || name !== 'document'))(
      'come back unchanged: $name',
      async (kind) => {
        const run = compile(`SELECT ${engine === 'postgres' ? kind.postgres : kind.mysql} AS v`, kind.type);
        const property = fc.asyncProperty(kind.sent, async (sent) => {
          // MariaDB has no negative zero.
          if (engine !== 'postgres' && sent === '-0') return;
          const text = await run(sent);
          const [, got = text] = /^\{"data":\[\{"v":(.*)\}\]\}$/s.exec(text) ?? [];
          expect(kind.canonical(got)).toBe(kind.canonical(sent));
        });
        await fc.assert(property, { numRuns: runs });
      },
      300_000,
    );

    it('stay values, whatever they look like', async () => {
      const select = engine === 'postgres' ? "encode(convert_to(:v, 'UTF8'), 'hex')" : 'LOWER(HEX(:v))';
      const run = compile(`SELECT :v AS v, ${select} AS h`, 'string');
      const piece = fc.constantFrom(
        ...[
          "'",
          '"',
          '`',
          '\\',
          "\\'",
          "''",
          '--',
          '-- \n',
          '#',
          '/*',
          '*/',
          '/*! ',
          '/*M!',
          ';',
          '$1',
          '$$',
          '$x$',
        ],
        ...[
          ':v',
          '{{v}}',
          '?',
          '%',
          '_',
          '\u00bf\u005c',
          '\u00bf\u0027',
          '縗',
          '縗\\',
          '表',
          '\u02bc',
          '\uff07',
          '\u2019',
        ],
        ...[
          "' OR 1=1",
          "'; DROP TABLE sales",
          "') --",
          'UNION SELECT',
          'pg_sleep(9)',
          'SLEEP(9)',
          '\b',
          '\x1a',
          '\n',
          '\r',
          '\t',
        ],
        ...[
          'NULL',
          'DEFAULT',
          'TRUE',
          '1e9',
          '0x41',
          "x'41'",
          "_utf8mb4'a'",
          "E'\\\\'",
          '{d 1}',
          '@x',
          '@@version',
          '\ufeff',
          '\u202e',
          '😀',
        ],
      );
      const value = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(''));
      const property = fc.asyncProperty(value, async (text) => {
        const { data } = JSON.parse(await run(JSON.stringify(text)));
        expect(data).toEqual([{ v: text, h: Buffer.from(text).toString('hex') }]);
      });
      await fc.assert(property, { numRuns: scaled(500, 10_000) });
    }, 300_000);
  });
});
