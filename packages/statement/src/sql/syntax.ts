/** The two syntaxes of SQL that the hub reads. */

import type { Dialect } from '../types.ts';

export const syntaxOf: Record<Dialect, 'postgres' | 'mysql'> = {
  postgres: 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
};
