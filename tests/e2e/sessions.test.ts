import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Api, createApi } from '../support/api.ts';
import { api, engines, sourceBody } from '../support/hub.ts';
import { scaled } from '../support/scale.ts';

type Text = [command: string, query: string];

/** Each leaves something that is its account's; sessions are those of one database user. */
const leavers: Record<string, Text[]> = {
  postgres: [
    ['SELECT', "SELECT set_config('hub.who', :who, false), pg_advisory_lock(4712)"],
    ['UPDATE', "UPDATE sales SET note = note WHERE set_config('hub.who', :who, false) = ''"],
    ['CREATE', 'CREATE TEMP TABLE of_another (who int)'],
  ],
  mysql: [
    ['SELECT', "SELECT @hub_who := :who, GET_LOCK('hub_who', 0)"],
    ['UPDATE', "UPDATE sales SET note = note WHERE (@hub_who := :who) = ''"],
    ['CREATE', 'CREATE TEMPORARY TABLE of_another (who INT)'],
  ],
};

const observers: Record<string, string> = {
  postgres: `SELECT nullif(current_setting('hub.who', true), '') AS who, to_regclass('of_another') AS temp,
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks`,
  mysql:
    "SELECT @hub_who AS who, NULL AS temp, COALESCE(IS_USED_LOCK('hub_who') = CONNECTION_ID(), 0) AS locks",
};

describe.each(engines)('sessions at %s', (engine) => {
  const dialect = engine === 'postgres' ? 'postgres' : 'mysql';
  let accounts: { run(query: number): Promise<{ status: number; body: any }> }[];

  const open = async (account: Api, who: string) => {
    const { hubId } = await account.ok(account.post('/v1/hubs', { label: `${engine} sessions` }));
    const { sourceId } = await account.ok(account.post('/v1/sources', sourceBody(hubId, engine)));
    const store = async ([command, query]: Text) =>
      (await account.ok(account.post('/v1/queries', { hubId, sourceId, label: 'q', command, query }))).config
        .query.queryId as string;
    const texts: Text[] = [
      ...(leavers[dialect] as Text[]),
      ['SELECT', observers[dialect] as string],
      ['SELECT', 'SELECT who FROM of_another'],
    ];
    const ids = await Promise.all(texts.map(store));
    return {
      run: (query: number) =>
        account.post('/v1/queries/execute', { queryId: ids.at(query), context: { who } }),
    };
  };

  beforeAll(async () => {
    const { url, otherKey } = inject('hub');
    accounts = await Promise.all([open(api, 'first'), open(createApi({ url, key: otherKey }), 'other')]);
  });

  it('show no account and no execution what another left', async () => {
    for (let i = 0; i < scaled(24, 10_000); i++) {
      const [one, other] = i % 2 === 0 ? accounts : [...accounts].reverse();
      await one?.run(i % 3);
      for (const account of [other, one]) {
        expect((await account?.run(-2))?.body).toEqual({ data: [{ who: null, temp: null, locks: 0 }] });
      }
      expect((await other?.run(-1))?.status).toBe(422);
    }
  }, 600_000);
});
