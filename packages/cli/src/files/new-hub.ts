/** The hub that `init` and `import` begin with. */

import type { EngineName } from '@datahub/contract/engines';
import { envNameOf } from './hub-file.ts';
import { type HubModel, toPath } from './model.ts';

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
  const secret = (member: string) => `\${env:${envNameOf({ hub: path, label: sourceLabel }, [member])}}`;
  return {
    path,
    label: name,
    sources: [
      {
        label: sourceLabel,
        engine,
        connectionSettings: {
          host: '127.0.0.1',
          port: ports[engine],
          database: path,
          user: secret('user'),
          password: secret('password'),
        },
      },
    ],
    folders: [],
    classifiers: [],
    queries: [],
  };
}
