/** The servers of the matrix, and the checks that each cannot pass. */

import type { EngineName } from '@datahub/contract/engines';

export type Dialect = 'postgres' | 'mysql' | 'mongodb';

export interface Target {
  /** The name in the table. */
  name: string;
  engine: EngineName;
  dialect: Dialect;
  /** The environment variable with its URL. */
  variable: string;
  /** The environment variable with the URL of the server behind a pooler, for direct access. */
  serverVariable?: string;
  /** Settings of the source besides address and log-in. */
  settings?: object;
  /** The command that returns the version of a pooler, and its database. */
  poolerVersion?: { database?: string; command: string };
  /** True if its certificate is from TEST_CA. */
  tls: boolean;
  /** The reason for each check that fails here, by name. */
  lacks: Readonly<Record<string, string>>;
}

const mysqlLacks = { 'RETURNING answers rows': 'MySQL has no RETURNING' };

const sessionLockRefused =
  'Saving is refused: a transaction pooler has no sessions for such locks; use `pg_advisory_xact_lock`';

const pgpoolKeepsRows =
  'Pgpool-II 4.3 keeps the rows of a pipelined statement until it has ended, so the first rows come late';

const noTls = 'FerretDB runs without TLS in the tests; TLS is tested on a stand-in';
const noLogIn = 'FerretDB runs without users in the tests; log-ins are tested on a stand-in';
const noDecimal = 'FerretDB 1.24 has no Decimal128; it is tested with the reader of BSON';
const noTransaction = 'The hub runs MongoDB commands without a transaction and rejects the option';
const noSleep = 'FerretDB has no command that takes long, and no `killSessions`';

const ferretdbLacks = {
  'wrong password: `SOURCE_AUTH`': noLogIn,
  'unknown database: `SOURCE_AUTH`': 'MongoDB creates databases when they are first written to',
  'TLS `require`': noTls,
  'TLS `verify-full` with its CA': noTls,
  'TLS `verify-full` without its CA: `SOURCE_TLS`': noTls,
  'variable: decimal': noDecimal,
  'value: decimal with all digits': noDecimal,
  'variable: date': 'MongoDB has no dates without a time',
  'variable: json': 'The hub passes no documents as values, because they could contain operators',
  'signature of a query': 'MongoDB does not describe commands',
  'dryRun leaves nothing': noTransaction,
  'maxAffected rolls back': noTransaction,
  'RETURNING answers rows': 'MongoDB has no RETURNING',
  'CREATE and DROP TABLE': 'The hub runs no commands that change a MongoDB schema',
  'a reader who leaves ends the statement': noSleep,
  'a time-out ends the statement': noSleep,
  'settings of a session are gone': 'Commands of MongoDB set nothing in a session',
  'locks of a session are gone': 'MongoDB has no such locks',
};

export const targets: readonly Target[] = [
  {
    name: 'PostgreSQL',
    engine: 'postgres',
    dialect: 'postgres',
    variable: 'POSTGRES_URL',
    tls: true,
    lacks: {},
  },
  {
    name: 'PostgreSQL 18',
    engine: 'postgres',
    dialect: 'postgres',
    variable: 'POSTGRES18_URL',
    tls: true,
    lacks: {},
  },
  {
    name: 'PgBouncer, session',
    engine: 'postgres',
    dialect: 'postgres',
    variable: 'PGBOUNCER_URL',
    serverVariable: 'POSTGRES_URL',
    poolerVersion: { database: 'pgbouncer', command: 'SHOW VERSION' },
    tls: true,
    lacks: {},
  },
  {
    name: 'PgBouncer, transaction',
    engine: 'postgres',
    dialect: 'postgres',
    variable: 'PGBOUNCER_TRANSACTION_URL',
    serverVariable: 'POSTGRES_URL',
    settings: { pooling: 'transaction' },
    poolerVersion: { database: 'pgbouncer', command: 'SHOW VERSION' },
    tls: true,
    lacks: { 'locks of a session are gone': sessionLockRefused },
  },
  {
    name: 'Pgpool-II',
    engine: 'postgres',
    dialect: 'postgres',
    variable: 'PGPOOL_URL',
    serverVariable: 'POSTGRES_URL',
    poolerVersion: { command: 'SHOW POOL_VERSION' },
    tls: true,
    lacks: { 'a reader who leaves ends the statement': pgpoolKeepsRows },
  },
  {
    name: 'MariaDB',
    engine: 'mariadb',
    dialect: 'mysql',
    variable: 'MARIADB_URL',
    tls: true,
    lacks: {},
  },
  {
    name: 'MySQL',
    engine: 'mysql',
    dialect: 'mysql',
    variable: 'MYSQL_URL',
    tls: true,
    lacks: mysqlLacks,
  },
  {
    name: 'FerretDB',
    engine: 'mongodb',
    dialect: 'mongodb',
    variable: 'MONGODB_URL',
    tls: false,
    lacks: ferretdbLacks,
  },
];
