/** Results of about the most columns that a server has, with long names. */

import { accessOf } from '../../support/databases.ts';
import type { Call, ToCall } from './calls.ts';
import type { Prepared } from './prepared.ts';

const sets = ['a', 'b', 'c', 'd', 'e'];
/** Of one of the sets. A server numbers no names, so the hub does. */
const names = Array.from({ length: 800 }, (_, i) => `1 AS ${`c${i}_`.padEnd(60, 'x')}`);
const query = `WITH t AS (SELECT ${names.join()}) SELECT * FROM ${sets.map((set) => `t ${set}`).join()}`;

const excel = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const forms: Record<string, { accept: string; options?: object }> = {
  json: { accept: 'application/json' },
  'json with meta': { accept: 'application/json', options: { meta: true } },
  ndjson: { accept: 'application/x-ndjson' },
  csv: { accept: 'text/csv' },
  arrow: { accept: 'application/vnd.apache.arrow.stream' },
  xlsx: { accept: excel },
};

export function wideRows(prepared: Prepared): Record<string, ToCall> {
  const { MARIADB_URL: mariadb, MYSQL_URL: mysql } = process.env;
  return Object.fromEntries(
    Object.entries({ mariadb, mysql }).flatMap(([engine, url]) => {
      if (url === undefined) return [];
      let creating: Promise<string> | undefined;
      return Object.entries(forms).map(([form, { accept, options }]) => {
        const toCall = async (): Promise<Call> => {
          creating ??= createWide(prepared, engine, url);
          const body = JSON.stringify({ queryId: await creating, options });
          return { path: '/v1/queries/execute', body, headers: { accept } };
        };
        return [`4,000 columns of ${engine} as ${form}`, toCall];
      });
    }),
  );
}

async function createWide(
  { hub: { api }, ids: { hubId } }: Prepared,
  engine: string,
  url: string,
): Promise<string> {
  const source = { hubId, label: engine, engine, connectionSettings: accessOf(url) };
  const { sourceId } = await api.ok(api.post('/v1/sources', source));
  const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'wide', query }));
  return config.query.queryId;
}
