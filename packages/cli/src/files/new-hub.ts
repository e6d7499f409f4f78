/** The hub that `init` and `import` begin with. */

import type { EngineName } from '@datahub/contract/engines';
import { SourceVariables } from './hub-file.ts';
import { type HubModel, type SourceModel, toPath } from './model.ts';

const ports: Readonly<Record<EngineName, number>> = {
  postgres: 5432,
  mysql: 3306,
  mariadb: 3306,
  mongodb: 27017,
};
export const sourceLabel = 'Database';

/** A hub with a source whose log-in is in the environment. */
export function newHub(name: string, engine: EngineName): HubModel {
  const path = toPath(name);
  const sources = [toSource(path, new SourceVariables(path), { label: sourceLabel, engine })];
  return { path, label: name, sources, folders: [], classifiers: [], queries: [] };
}

export interface NewSource {
  label: string;
  engine: EngineName;
  host?: string | undefined;
  port?: number | undefined;
  database?: string | undefined;
  needsTls?: boolean;
}

/** A source whose log-in is in the environment, and whose address has defaults. */
export function toSource(
  hub: string,
  variables: SourceVariables,
  { label, engine, host, port, database, needsTls }: NewSource,
): SourceModel {
  const [user, password] = variables.take(label, [['user'], ['password']]).map((name) => `\${env:${name}}`);
  return {
    label,
    engine,
    connectionSettings: {
      host: host ?? '127.0.0.1',
      port: port ?? ports[engine],
      database: database ?? hub,
      user,
      password,
      ...(needsTls === true ? { tls: { mode: 'require' } } : {}),
    },
  };
}
