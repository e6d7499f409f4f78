/** Booleans and JSON as values of the JSON that functions make: their protocol has numbers and texts alone. */

import { compileStatement } from '@datahub/statement/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect } from '../../fixture.ts';

const servers = [
  { dialect: 'mysql', url: process.env.MYSQL_URL },
  { dialect: 'mariadb', url: process.env.MARIADB_URL },
] as const;

describe.each(servers)('a value in JSON_SET on $dialect', ({ dialect, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connect(dialect, url as string);
    });
    afterAll(() => connection.close());

    const set = async (x: unknown, type?: string) => {
      const variables = type === undefined ? [] : [{ key: 'x', type }];
      const text = "SELECT JSON_SET('{}', '$.a', :x, '$.b', JSON_ARRAY(:x)) AS doc";
      const compiled = compileStatement(text, { dialect, command: 'SELECT', variables });
      const bound = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify({ x }) });
      const { data } = await ask(connection, bound.text, { ...bound, key: `${type} ${bound.key}` });
      return data[0]?.doc;
    };

    it('keeps its JSON type', async () => {
      for (const x of [true, false, { b: [1, 'c', null] }, ['d'], [], 'e', 'true', 1, 1.5, null])
        expect(await set(x)).toEqual({ a: x, b: [x] });
      for (const x of [true, null]) expect(await set(x, 'boolean')).toEqual({ a: x, b: [x] });
      for (const x of [true, { b: 1 }, ['d'], 'e', 'true', 1, null])
        expect(await set(x, 'json')).toEqual({ a: x, b: [x] });
    });

    it('keeps its JSON type in parentheses and conditions, as with TRUE in the text', async () => {
      const forms = [
        '((:x))',
        '(SELECT :x)',
        'COALESCE(:x, FALSE)',
        'IF(1, (:x), FALSE)',
        'NULLIF(:x, FALSE)',
      ];
      const make = async (form: string, context: object) => {
        const text = `SELECT JSON_OBJECT('a', ${form}) AS doc`;
        const compiled = compileStatement(text, { dialect, command: 'SELECT', variables: [] });
        const bound = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify(context) });
        return (await ask(connection, bound.text, { ...bound, key: `${text} ${bound.key}` })).data[0]?.doc;
      };
      for (const form of forms)
        expect([form, await make(form, { x: true })]).toEqual([
          form,
          await make(form.replace(':x', 'TRUE'), {}),
        ]);
    });

    // MariaDB has no JSON but text.
    if (dialect === 'mysql')
      it('is found again as what it is', async () => {
        const doc = `SELECT JSON_EXTRACT(JSON_OBJECT('a', :made), '$.a') AS a`;
        const found = async (made: unknown, condition: string, x: unknown) => {
          const text = `SELECT 1 FROM (${doc}) AS t WHERE a ${condition}`;
          const compiled = compileStatement(text, { dialect, command: 'SELECT', variables: [] });
          const bound = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify({ made, x }) });
          return (
            (await ask(connection, bound.text, { ...bound, key: condition + bound.key })).data.length === 1
          );
        };
        for (const made of [true, false]) {
          expect(await found(made, '= :x', made)).toBe(true);
          expect(await found(made, 'IN (:x)', [made])).toBe(true);
          expect(await found(made, 'IN (:x, 5)', made)).toBe(true);
          expect(await found(made, '= :x', !made)).toBe(false);
        }
        expect(await found(1, '= :x', 1)).toBe(true);
      });

    if (dialect === 'mysql')
      it('is looked for by MEMBER OF as what it is', async () => {
        const list = [1, '2', { a: 1 }, [3], true];
        const isIn = async (x: unknown, type?: string) => {
          const variables = type === undefined ? [] : [{ key: 'x', type }];
          const text = `SELECT 1 WHERE :x MEMBER OF ('${JSON.stringify(list)}')`;
          const compiled = compileStatement(text, { dialect, command: 'SELECT', variables });
          const bound = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify({ x }) });
          return (
            (await ask(connection, bound.text, { ...bound, key: `${type}${bound.key}` })).data.length === 1
          );
        };
        for (const x of list) expect([x, await isIn(x, 'json')]).toEqual([x, true]);
        for (const x of [1, '2', true]) expect([x, await isIn(x)]).toEqual([x, true]);
        for (const x of ['1', 2, { a: 2 }]) expect([x, await isIn(x, 'json')]).toEqual([x, false]);
      });
  });
});
