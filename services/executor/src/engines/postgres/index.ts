/** PostgreSQL as an engine. */

import type { Engine } from '../../ports/engine.ts';
import { connectPostgres } from './connect.ts';

export function createPostgresEngine(): Engine {
  return { connect: connectPostgres };
}
