/** Transactions of several statements at MySQL and MariaDB. */

import { isolationSql } from '@datahub/contract/transactions';
import type { TransactionOptions, Transactions } from '../../ports/engine.ts';
import { controlError } from './errors.ts';
import * as protocol from './protocol.ts';
import { incompleteError } from './rollback.ts';
import { type RunAllHost, runAll } from './run-all.ts';
import { begin, commit } from './session.ts';
import { ok } from './wire.ts';

/** What the connection lends. */
export interface TransactionHost extends RunAllHost {
  /** Runs commands that can be cancelled. */
  control<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves to false if the server could not undo everything. */
  rollBack(): Promise<boolean>;
  /** Cleans the session. */
  leave(): Promise<void>;
}

export function createTransactions(host: TransactionHost): Transactions {
  const { wire, control, rollBack, leave, close } = host;
  return {
    begin: ({ isolation, readOnly }: TransactionOptions) =>
      control(async () => {
        const level = isolation && protocol.query(`SET TRANSACTION ${isolationSql(isolation)}`);
        const commands = [...(level === undefined ? [] : [level]), begin[readOnly ? 'read' : 'write']];
        wire.awaitSign();
        wire.send(Buffer.concat(commands));
        const responses = commands.map(() => ok);
        const { begun, ran, ended } = await wire.exchange(responses, 0);
        const failure = begun ?? ran ?? ended;
        if (failure !== undefined) throw controlError(failure);
      }),
    runAll: (all, options) => control(() => runAll(all, options, host)),
    commit: async () => {
      await control(() => {
        const done = wire.expect(ok);
        wire.send(commit);
        return done;
      });
      await leave();
    },
    rollBack: async () => {
      const isUndone = await control(rollBack).catch(() => close());
      await leave();
      if (isUndone === false) throw incompleteError();
    },
  };
}
