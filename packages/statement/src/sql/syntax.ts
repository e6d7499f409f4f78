/** The two syntaxes of SQL that the hub reads. */

import type { Dialect } from '../types.ts';

export type Syntax = 'postgres' | 'mysql';

export const syntaxOf: Record<Dialect, Syntax> = {
  postgres: 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
};

/** Returns the choice for the dialect. A further syntax does not compile until each choice names it. */
export const bySyntax = <T>(dialect: Dialect, choices: Record<Syntax, T>): T => choices[syntaxOf[dialect]];
