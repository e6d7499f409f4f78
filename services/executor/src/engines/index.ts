/** The engines there are. */

import type { Engine } from '../engine.ts';
import { createMongodbEngine } from './mongodb/index.ts';
import { createMysqlEngine } from './mysql/index.ts';
import { createPostgresEngine } from './postgres/index.ts';

export function createEngines(): Engine[] {
  return [createPostgresEngine(), createMysqlEngine(), createMongodbEngine()];
}
