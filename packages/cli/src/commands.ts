/** The table of commands, in the order of the help. */

import type { Command } from './command.ts';
import { apply } from './commands/apply.ts';
import { check } from './commands/check.ts';
import { completion } from './commands/completion.ts';
import { exportHub } from './commands/export.ts';
import {
  importFiles,
  importHasuraOperations,
  importMetabaseQuestions,
  importNpgsqlRestFiles,
  importRedashQueries,
} from './commands/import.ts';
import { init } from './commands/init.ts';
import { createKey, listKeys, revokeKey, rotateKey, usageOfKey } from './commands/keys.ts';
import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { mcp } from './commands/mcp.ts';
import { backup, compact, forgetCredentials, sealingKeys } from './commands/operators.ts';
import { grantRole, listPeople } from './commands/people.ts';
import { plan } from './commands/plan.ts';
import { predict } from './commands/predict.ts';
import { run } from './commands/run.ts';
import { summarize } from './commands/summarize.ts';
import { train } from './commands/train.ts';
import { types } from './commands/types.ts';
import { events, listDeliveries, listWatches, redeliver, runWatch } from './commands/watches.ts';
import { whoami } from './commands/whoami.ts';

export const commands: readonly Command[] = [
  login,
  logout,
  whoami,
  run,
  init,
  importFiles,
  importRedashQueries,
  importMetabaseQuestions,
  importHasuraOperations,
  importNpgsqlRestFiles,
  exportHub,
  plan,
  apply,
  check,
  types,
  train,
  predict,
  summarize,
  listWatches,
  runWatch,
  events,
  listDeliveries,
  redeliver,
  mcp,
  listPeople,
  grantRole,
  createKey,
  listKeys,
  usageOfKey,
  rotateKey,
  revokeKey,
  completion,
  backup,
  sealingKeys,
  compact,
  forgetCredentials,
];
