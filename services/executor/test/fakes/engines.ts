import type { EngineName } from '@datahub/contract/engines';
import type { Engine } from '../../src/ports/engine.ts';

/** One engine under every name. */
export const forEachEngine = (engine: Engine): Record<EngineName, Engine> => ({
  postgres: engine,
  mysql: engine,
  mariadb: engine,
  mongodb: engine,
});
