/**
 * Runs many statements in an open transaction, which are sent together. After an error the server runs the ones behind
 * it, also if the error ended the transaction, as a deadlock does. Without autocommit they begin another one, which is
 * rolled back.
 */

import type { Outcome, RunAllOptions, Statement } from '../../ports/engine.ts';
import type { RowSink } from '../../ports/row-sink.ts';
import { settingChanged } from '../shared/outcomes.ts';
import { brokenError, controlError, reported } from './errors.ts';
import { keyOf } from './parameter-types.ts';
import * as protocol from './protocol.ts';
import { ResultReader } from './results.ts';
import type { MysqlSession } from './session.ts';
import { execute, type Prepared, preparedMax } from './statements.ts';
import { type Commands, ok, type Wire } from './wire.ts';

export interface RunAllHost {
  wire: Wire;
  session: Pick<MysqlSession, 'hasExtended'>;
  /** Prepares a statement of the open transaction. Rejects if its tables have no transactions. */
  prepare(statement: Statement): Promise<Prepared>;
  /** Sets the timeout of statements. */
  timeout(timeoutMs: number): Commands;
  /** Resolves to the names of the settings of values and statements that were not the hub's. */
  restoreValues(): Promise<string[]>;
  close(): void;
}

/** The session is reset at the end of the transaction. */
const withoutAutocommit = protocol.query('SET autocommit = 0');
const nothing = { before: Buffer.alloc(0), after: Buffer.alloc(0) };
const dropped: RowSink = {
  ...{ takesDocuments: false, takesBinary: false, truncated: true, full: false },
  ...{ begin: () => {}, row: () => {}, document: () => {}, onDrain: () => {} },
};

export async function runAll(
  all: readonly Statement[],
  { statementTimeoutMs, onFailure }: RunAllOptions,
  host: RunAllHost,
): Promise<number> {
  const { wire } = host;
  const timeout = host.timeout(statementTimeoutMs);
  wire.awaitSign();
  wire.send(Buffer.concat([withoutAutocommit, timeout.bytes]));
  const { ran, ended } = await wire.exchange([ok, ...timeout.responses], 0);
  if ((ran ?? ended) !== undefined) throw controlError(ran ?? ended);
  let affectedRows = 0;
  for (let from = 0; from < all.length; ) {
    const fail = (index: number) => onFailure(from + index);
    const prepared = await prepareSome(all.slice(from), host, fail);
    affectedRows += await sendSome(all.slice(from, from + prepared.length), { prepared, host }, fail);
    from += prepared.length;
  }
  return affectedRows;
}

/** Prepares as many as a connection keeps. Each needs up to two. */
async function prepareSome(
  all: readonly Statement[],
  { prepare }: RunAllHost,
  onFailure: (index: number) => void,
): Promise<Prepared[]> {
  const keys = new Set<string>();
  const forms = new Set<Prepared>();
  const some: Prepared[] = [];
  for (const statement of all) {
    if (keys.size + forms.size > preparedMax - 2) break;
    keys.add(keyOf(statement));
    try {
      const prepared = await prepare(statement);
      forms.add(prepared);
      some.push(prepared);
    } catch (err) {
      onFailure(some.length);
      throw reported(err, statement);
    }
  }
  return some;
}

async function sendSome(
  all: readonly Statement[],
  { prepared, host }: { prepared: readonly Prepared[]; host: RunAllHost },
  onFailure: (index: number) => void,
): Promise<number> {
  const { wire, session, close, restoreValues } = host;
  const { hasExtended } = session;
  const ignore = () => {};
  const own = {
    ...{ hasExtended, discarding: () => true, dropped: ignore, onFailure: ignore },
    ...{ pause: ignore, resume: ignore, readOnIn: ignore },
  };
  const outcomes: Outcome[] = [];
  const parts: Buffer[] = [];
  const readers: ResultReader[] = [];
  for (let i = 0; i < all.length; i++) {
    const outcome: Outcome = { hasRows: false };
    const one = prepared[i] as Prepared;
    outcomes.push(outcome);
    readers.push(new ResultReader({ prepared: one, sink: dropped, outcome }, own));
    try {
      parts.push(execute(one, all[i] as Statement, nothing));
    } catch (err) {
      onFailure(i);
      throw err;
    }
  }
  const exchanges = readers.map(({ response }) => wire.exchange([response], 0));
  wire.send(Buffer.concat(parts));
  const ends = await Promise.all(exchanges);
  const failed = ends.findIndex(({ ran }) => ran !== undefined);
  if (failed !== -1) {
    onFailure(failed);
    throw reported(ends[failed]?.ran, all[failed] as Statement);
  }
  if (readers.at(-1)?.inTransaction !== true) {
    close();
    throw brokenError();
  }
  const changing = readers.findIndex(({ sessionChanged }) => sessionChanged);
  const [changed] = changing === -1 ? [] : await restoreValues();
  if (changed !== undefined && changing < all.length - 1) {
    onFailure(changing);
    throw settingChanged(changed);
  }
  return outcomes.reduce((sum, { affectedRows = 0 }) => sum + affectedRows, 0);
}
