/** An adapter for each engine of the contract. */

import type { EngineName } from '@datahub/contract/engines';
import type { Engine } from '../ports/engine.ts';
import { createMongodbEngine } from './mongodb/index.ts';
import { createMysqlEngine } from './mysql/index.ts';
import { createPostgresEngine } from './postgres/index.ts';

export function createEngines(): Record<EngineName, Engine> {
  const mysql = createMysqlEngine();
  return { postgres: createPostgresEngine(), mysql, mariadb: mysql, mongodb: createMongodbEngine() };
}
