/** Names of columns are data: whatever a statement calls them, the answer has them all. */

import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/ports/engine.ts';
import { ask, connect } from '../fixture.ts';

const servers: { engine: EngineName; url: string | undefined; quote: string; lengthMax: number }[] = [
  { engine: 'postgres', url: process.env.POSTGRES_URL, quote: '"', lengthMax: 63 },
  { engine: 'mariadb', url: process.env.MARIADB_URL, quote: '`', lengthMax: 255 },
  { engine: 'mysql', url: process.env.MYSQL_URL, quote: '`', lengthMax: 256 },
];

describe.each(servers)('columns of $engine', ({ engine, url, quote, lengthMax }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;

    beforeAll(async () => {
      connection = await connect(engine, url as string);
    });
    afterAll(() => connection.close());

    const quoted = (name: string) => quote + name.replaceAll(quote, quote + quote) + quote;
    const select = (...names: string[]) =>
      `SELECT ${names.map((name, i) => `${i + 1} AS ${quoted(name)}`).join(', ')}`;

    it.each([
      ['repeated', ['id', 'id', 'id'], ['id', 'id_2', 'id_3']],
      ['repeated beside a real one', ['id', 'id', 'id_2', 'id_2'], ['id', 'id_3', 'id_2', 'id_2_2']],
      ['like numbers, which objects would sort', ['2', '1', '2'], ['2', '1', '2_2']],
      [
        'like what objects inherit',
        ['__proto__', 'constructor', '__proto__', 'toString', 'hasOwnProperty'],
        ['__proto__', 'constructor', '__proto___2', 'toString', 'hasOwnProperty'],
      ],
      ['with quotes, commas and escapes', ['a"b', "a'b", 'a,b', 'a\\b', 'a\nb', '{}'], undefined],
      ['in any script', ['größe', '名前', 'имя', '\u202eabc'], undefined],
      ['of the greatest length', ['x'.repeat(lengthMax)], undefined],
    ])('%s are all there, in order', async (_case, names, wanted = names) => {
      const json = await ask(connection, select(...names));
      expect(json.text).toBe(
        `{"data":[{${wanted.map((name, i) => `${JSON.stringify(name)}:${i + 1}`).join(',')}}]}`,
      );
      const csv = await ask(connection, select(...names), { format: 'csv' });
      const field = (name: string) => (/[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
      expect(csv.text).toBe(`${wanted.map(field).join(',')}\r\n${wanted.map((_, i) => i + 1).join(',')}\r\n`);
      expect(connection.broken).toBe(false);
    });

    it('of 64 kB are the engine’s to cut or refuse, and harm nothing', async () => {
      const answer = await ask(connection, select('y'.repeat(65_536))).catch((err) => err);
      if (answer instanceof Error) expect(answer).toMatchObject({ code: 'SQL_REJECTED' });
      else expect(Object.keys(answer.data[0])).toEqual(['y'.repeat(lengthMax)]);
      expect((await ask(connection, select('next'))).data).toEqual([{ next: 1 }]);
    });

    it('without a name of their own have one', async () => {
      const { text } = await ask(connection, 'SELECT 1, 2');
      expect(Object.values(JSON.parse(text).data[0])).toEqual([1, 2]);
      const empty = await ask(connection, `SELECT 1 AS ${quoted('')}`).catch((err) => err);
      if (empty instanceof Error) expect(empty).toMatchObject({ code: 'SQL_REJECTED' });
      else expect(empty.text).toBe('{"data":[{"":1}]}');
    });

    it('may be a thousand', async () => {
      const names = Array.from({ length: 1_000 }, (_, i) => `c${i}`);
      expect(Object.keys((await ask(connection, select(...names))).data[0] ?? {})).toEqual(names);
    });
  });
});
