/** MySQL and MariaDB as one engine. */

import type { Engine } from '../../engine.ts';
import { connectMysql } from './connect.ts';

export function createMysqlEngine(): Engine {
  return { names: ['mysql', 'mariadb'], connect: connectMysql };
}
