/**
 * Runs many statements in an open transaction in one round trip. A text is parsed once, without a name, so that no SQL
 * can replace it: its Bind and Execute follow as often as there are values.
 */

import type { Param, Statement } from '../../ports/engine.ts';
import { settingChanged } from '../shared/outcomes.ts';
import { brokenError, isReadOnlyServer, toHubError } from './errors.ts';
import { attempt, hasNumbers, haveSameColumns, typedOf } from './numbers.ts';
import type { Prepared } from './prepared.ts';
import * as protocol from './protocol.ts';
import { affectedBy } from './results.ts';
import { changedValue, once, restoreValues, setLocal, sign } from './session.ts';
import type { Statements } from './statements.ts';
import type { Wire } from './wire.ts';

export interface RunOfManyHost {
  wire: Wire;
  statements: Statements;
  /** Set if a pooler can run each transaction in another session. */
  blocks: unknown;
  close(): void;
}

const commandComplete = 'C'.charCodeAt(0);
const dataRow = 'D'.charCodeAt(0);
/** A command without a statement of the caller. */
const ofSession = -1;

export class RunOfMany {
  readonly #host: RunOfManyHost;
  /** By key. The tables of a statement that has run in the transaction do not change before its end. */
  readonly #prepared = new Map<string, Prepared>();
  /** The settings that the transaction has. */
  #session: string | undefined;
  #hasRun = false;

  constructor(host: RunOfManyHost) {
    this.#host = host;
  }

  async run(all: readonly Statement[], onFailure: (index: number) => void): Promise<number> {
    const { wire, blocks } = this.#host;
    const { bytes, places } = await this.#encode(all, onFailure);
    let completed = 0;
    let affectedRows = 0;
    // A pooler may have no server for the client yet, so it gives no sign.
    if (blocks === undefined) wire.awaitSign();
    let changed: string | null | undefined;
    const { error, status } = await wire.exchange(bytes, (type, source, start, end) => {
      if (type === dataRow && completed === places.length - 1)
        [changed] = protocol.readRow(source.subarray(start, end));
      if (type !== commandComplete) return;
      if (places[completed++] !== ofSession) affectedRows += affectedBy(source, start, end - 1);
    });
    if (error !== undefined) {
      const index = places.slice(completed).find((place) => place !== ofSession) ?? all.length - 1;
      onFailure(index);
      // A new connection can find the server that accepts writes now.
      if (isReadOnlyServer(error)) this.#host.close();
      const failed = all[index] as Statement;
      throw this.#rejected(error, { ...failed, apart: this.#prepared.get(failed.key)?.apart });
    }
    if (typeof changed === 'string' && all.length > 1) {
      onFailure(all.length - 1);
      throw settingChanged(changed);
    }
    if (status === 'T' && completed === places.length) return affectedRows;
    this.#host.close();
    throw brokenError(new Error(`The session is in the state ${status}.`));
  }

  async #encode(all: readonly Statement[], onFailure: (index: number) => void) {
    const { statements, blocks } = this.#host;
    const parts: Buffer[] = blocks === undefined ? [sign] : [];
    /** The index of the statement of each command. */
    const places: number[] = [];
    let parsed: string | undefined;
    // A trigger of the last statement before may have changed a setting.
    if (this.#hasRun) {
      parts.push(...once(restoreValues));
      places.push(ofSession);
    }
    this.#hasRun = true;
    for (let i = 0; i < all.length; i++) {
      const asked = all[i] as Statement;
      const { session } = asked;
      let statement: protocol.Typed = asked;
      let params: Param[];
      let types: readonly number[];
      let prepared: Prepared;
      try {
        if (hasNumbers(asked)) statement = await this.#withNumbers(asked);
        prepared = this.#prepared.get(statement.key) ?? (await this.#prepare(statement));
        params = statements.paramsOf(statement, prepared);
        // The values have the forms of these types.
        const isTyped = statement.untyped !== undefined || statement.types !== undefined;
        types = isTyped ? prepared.parameterTypes : [];
      } catch (err) {
        onFailure(i);
        throw err;
      }
      const settings = session && JSON.stringify(session);
      if (session !== undefined && settings !== this.#session) {
        parts.push(...setLocal(session));
        places.push(ofSession);
        parsed = undefined;
        this.#session = settings;
      }
      if (statement.key !== parsed)
        parts.push(protocol.parse('', statements.textOf(statement, prepared), types));
      parsed = statement.key;
      parts.push(protocol.bind('', params), protocol.executeAll);
      places.push(i);
    }
    parts.push(...once(changedValue), protocol.sync);
    places.push(ofSession);
    return { bytes: Buffer.concat(parts), places };
  }

  async #withNumbers(statement: Statement): Promise<protocol.Typed> {
    const { statements } = this.#host;
    const plain = this.#prepared.get(statement.key) ?? (await this.#prepare(statement));
    const typed = typedOf(statement, plain);
    if (typed === undefined || plain.textual?.has(typed.key)) return statement;
    if (this.#prepared.has(typed.key)) return typed;
    const prepared = await attempt(statements, () => statements.parse(typed));
    if (prepared !== undefined && haveSameColumns(prepared, await statements.parse(statement))) {
      this.#prepared.set(typed.key, { ...prepared, fields: undefined });
      return typed;
    }
    plain.textual ??= new Set();
    plain.textual.add(typed.key);
    return statement;
  }

  async #prepare(statement: Statement): Promise<Prepared> {
    const prepared = await this.#host.statements.parse(statement);
    // Its rows are left out, and their columns can take much.
    const needed = { ...prepared, fields: undefined };
    this.#prepared.set(statement.key, needed);
    return needed;
  }

  #rejected(body: Buffer, statement: Statement) {
    return toHubError(body, statement, this.#host.statements.charactersBefore(statement));
  }
}
