/** The prepared statements of one session, bounded in number, and the types that the server reported. */

import { randomBytes } from 'node:crypto';
import type { Param, RunOptions, Statement } from '../../ports/engine.ts';
import type { KeptOfAccount } from '../../ports/server-stream.ts';
import { OwnAnswer, ownAnswerBytesMax } from '../shared/bounds.ts';
import { commentLength, withCommentBehind, withCommentInFront } from '../shared/comment.ts';
import { KeptOfConnection, weightOf } from '../shared/kept-statements.ts';
import { cursorRefused, isGone, RefusedPlan, stalenessOf, toHubError } from './errors.ts';
import { checkName, checkOf, prepareCheck } from './formats.ts';
import { attempt, hasNumbers, haveSameColumns, typedOf } from './numbers.ts';
import { paramsOf } from './params.ts';
import type { Prepared } from './prepared.ts';
import * as protocol from './protocol.ts';
import { learnTypes } from './server-types.ts';
import { type Block, setLocal, sign } from './session.ts';
import { formatsOf, isKnownType, isTextType, type ServerType } from './values.ts';
import type { Wire } from './wire.ts';

interface StatementsOptions {
  /** The messages around a parse, if the session is shared with other applications. */
  block?: (() => Block) | undefined;
  comments?: 'off' | 'front' | 'behind';
  /** The room of the account for what its connections keep. */
  kept?: KeptOfAccount | undefined;
}

/** A statement that failed. */
interface Failed {
  prepared: Prepared;
  /** `bound` is true if the server accepted the statement with its values. */
  reader: { bound: boolean };
}

/** The most prepared statements of one connection. The least recently used is closed first. */
const preparedMax = 100;
const parameterBytes = 8;
/** For so long after a change of a table, a statement may compare with values of the types from before. */
const inferredMs = 100;

/** About 2,500 types, which hundreds of connections can keep. */
const typeBytesMax = 524_288;

/** `refcursor` and its array. */
const cursorTypes = new Set([1790, 2201]);

const rowDescription = 'T'.charCodeAt(0);
const parameterDescription = 't'.charCodeAt(0);
const dataRow = 'D'.charCodeAt(0);

export class Statements {
  readonly serverTypes = new Map<number, ServerType>();
  /** True while the connection has a transaction of several statements open, which nothing here may end. */
  inTransaction = false;
  readonly #wire: Wire;
  /** The least recently used is first. */
  readonly #prepared = new Map<string, Prepared>();
  /** Statements of this run or snapshot that are not kept. */
  readonly #once = new Map<string, Prepared>();
  /** The keys of those that have no room, and are forgotten after this run or snapshot. */
  #unkept: string[] = [];
  /** The second statement of the open snapshot. */
  #next: string | undefined;
  readonly #kept: KeptOfConnection;
  /** The key of the most recently used statement. */
  #newest: string | undefined;
  /** The server of the types and statements, if a pooler can run each transaction at another one. */
  #server: string | undefined;
  /** Makes names unique, even if connections share a session. */
  readonly #prefix = `dh_${randomBytes(6).toString('hex')}_`;
  #named = 0;
  /** All answers about types on this connection. */
  #types = new OwnAnswer(typeBytesMax);

  readonly #block: StatementsOptions['block'];
  #comments: NonNullable<StatementsOptions['comments']>;

  constructor(wire: Wire, { block, comments = 'off', kept }: StatementsOptions = {}) {
    this.#wire = wire;
    this.#kept = new KeptOfConnection(kept);
    wire.onClose(() => this.#kept.close());
    this.#block = block;
    this.#comments = comments;
  }

  /** True if there may be no room for the types of another statement. */
  get knowsManyTypes(): boolean {
    return this.#types.isHalfFull;
  }

  /** Comments go in front from now on, if they are sent at all. */
  commentInFront(): void {
    if (this.#comments === 'behind') this.#comments = 'front';
  }

  /** The text that is sent. */
  textOf({ text, comment }: Statement, { apart }: Pick<Prepared, 'apart'>): string {
    const statement = { text: apart?.text ?? text, comment };
    if (this.#comments === 'off') return statement.text;
    return this.#comments === 'front' ? withCommentInFront(statement) : withCommentBehind(statement);
  }

  /** The number of characters that are sent in front of the statement. */
  charactersBefore(statement: Statement): number {
    return this.#comments === 'front' ? commentLength(statement) : 0;
  }

  /** Undefined if `prepare` must be called. */
  prepared(key: string): Prepared | undefined {
    const known = this.#prepared.get(key);
    if (known === undefined) return this.#once.get(key);
    if (key === this.#newest) return known;
    this.#newest = key;
    this.#prepared.delete(key);
    this.#prepared.set(key, known);
    return known;
  }

  /** Returns the parameters in the forms of the types that the server expects. Throws CONTEXT_INVALID. */
  paramsOf = (statement: Statement, prepared: Prepared): Param[] =>
    paramsOf(statement, prepared, this.serverTypes);

  /** Returns the statement with the types of its numbers, where the server would take them for texts. */
  async #withNumbers(statement: Statement, how: { named: boolean; isLast: boolean }): Promise<Statement> {
    if (!hasNumbers(statement)) return statement;
    const plain = await this.ready(statement, how);
    const typed = typedOf(statement, plain);
    if (typed === undefined || plain.textual?.has(typed.key)) return statement;
    if (this.prepared(typed.key) !== undefined) return typed;
    if (how.isLast) return statement;
    const prepared = await attempt(this, () => this.prepare(typed, how));
    if (prepared !== undefined && haveSameColumns(prepared, plain)) return typed;
    await this.forget(typed.key);
    plain.textual ??= new Set();
    plain.textual.add(typed.key);
    return statement;
  }

  /** Returns the statement as it runs. */
  async readied(asked: Statement, how: { named: boolean; isLast: boolean }) {
    const statement = await this.#withNumbers(asked, how);
    return { statement, prepared: await this.ready(statement, how) };
  }

  /** Returns the prepared statement for a run. */
  ready(statement: Statement, { named, isLast }: { named: boolean; isLast: boolean }) {
    const known = this.prepared(statement.key);
    // Without a name, it is parsed at each run, so the types of its parameters may be others than before.
    const mayDiffer = known?.name === '' && statement.untyped !== undefined && !isLast;
    if (known === undefined || mayDiffer) return this.prepare(statement, { named });
    const infers = known.name !== '' && statement.infersTypes && !isLast;
    if (!infers || performance.now() - known.inferredAt < inferredMs) return known;
    return this.#inferAgain(statement, known);
  }

  /** After a change of a table the server plans a statement anew, but does not infer the types of its parameters again. */
  async #inferAgain(statement: Statement, known: Prepared): Promise<Prepared> {
    // What the server refused once, it would log as an error each time.
    const { parameterTypes, inferredAt, apart } = await this.parse({ ...statement, apart: known.apart });
    known.inferredAt = inferredAt;
    if (apart === known.apart && parameterTypes.every((type, i) => type === known.parameterTypes[i]))
      return known;
    await this.forget(statement.key);
    return this.prepare(statement, { named: true });
  }

  /** Parses a statement. If `named` is false, the server does not keep it. */
  async prepare(statement: Statement, { named }: { named: boolean }): Promise<Prepared> {
    const { key, isOnce } = statement;
    if (isOnce) {
      const prepared = await this.parse(statement);
      this.#once.set(key, prepared);
      return prepared;
    }
    const prepared = await this.parse(statement, named ? `${this.#prefix}${++this.#named}` : '');
    this.#kept.give(this.#prepared.get(key)?.weight ?? 0);
    this.#prepared.delete(key);
    this.#prepared.set(key, prepared);
    this.#newest = key;
    await this.#keep(key, prepared);
    return prepared;
  }

  /** Forgets others, and the statement itself after this run if there is no room for it alone. */
  async #keep(key: string, prepared: Prepared): Promise<void> {
    const { fields = [], parameterTypes } = prepared;
    const names = fields.reduce((sum, { name }) => sum + name.length, 0);
    const weight = weightOf(fields.length, names) + parameterTypes.length * parameterBytes;
    for (;;) {
      const [oldest] = this.#prepared.keys();
      if (this.#prepared.size <= preparedMax && this.#kept.take(weight)) {
        prepared.weight = weight;
        return;
      }
      if (oldest === undefined || oldest === key || oldest === this.#next) break;
      await this.forget(oldest);
    }
    this.#unkept.push(key);
  }

  /** Prepares the second statement of a snapshot. */
  async prepareNext(snapshot: RunOptions['snapshot'], named: boolean): Promise<void> {
    if (typeof snapshot !== 'object') return;
    const { next } = snapshot;
    this.#next = next.key;
    await this.readied(next, { named, isLast: false });
  }

  /**
   * Takes the row of a block that asks for the server. If it is another one, forgets the types and statements of the old
   * and returns true.
   */
  meetServer(row: Buffer): boolean {
    const server = protocol.readRow(row)[0] ?? undefined;
    if (server === this.#server) return false;
    this.#server = server;
    this.serverTypes.clear();
    this.#types = new OwnAnswer(typeBytesMax);
    this.#forgetAll();
    this.#once.clear();
    return true;
  }

  /** Call this when a run or snapshot has ended. */
  forgetOnce(): void {
    if (this.#once.size > 0) this.#once.clear();
    // What runs next is sent behind this.
    for (const key of this.#unkept) this.forget(key).catch(() => {});
    if (this.#unkept.length > 0) this.#unkept = [];
    this.#next = undefined;
  }

  #forgetAll(): void {
    this.#prepared.clear();
    this.#unkept = [];
    this.#kept.clear();
  }

  /** Throws SQL_REJECTED for a statement that returns a cursor, which is closed when its transaction ends. */
  async parse(statement: protocol.Typed, name = ''): Promise<Prepared> {
    const { apart, types } = statement;
    if (types !== undefined) return this.#parse(statement, { name, apart });
    return (apart && (await this.#parseApart(statement, apart, name))) ?? this.#parse(statement, { name });
  }

  /** Undefined if the database does not take the statement with parameters of their own for some places. */
  async #parseApart(statement: Statement, apart: NonNullable<Statement['apart']>, name: string) {
    const prepared = await attempt(this, () => this.#parse(statement, { name, apart }));
    const isText = (i: number) => isTextType(prepared?.parameterTypes[i] ?? 0, this.serverTypes);
    if (prepared === undefined || apart.texts.every(isText)) return prepared;
    await this.#close(name);
    return undefined;
  }

  async #parse(
    statement: protocol.Typed,
    { name, apart }: { name: string; apart?: Statement['apart'] },
  ): Promise<Prepared> {
    const prepared: Prepared = {
      name,
      fields: undefined,
      parameterTypes: [],
      apart,
      inferredAt: performance.now(),
      check: undefined,
      columns: undefined,
      binary: undefined,
      hasServerTypes: false,
      weight: 0,
    };
    const block = this.inTransaction ? undefined : this.#block?.();
    let isAsked = block !== undefined;
    const { session } = statement;
    // Names of tables depend on the search path, and rights on the role.
    const set = session === undefined ? [] : setLocal(session);
    const own = [
      ...set,
      protocol.parse(name, this.textOf(statement, prepared), statement.types),
      protocol.describeStatement(name),
    ];
    const bytes = Buffer.concat(
      block === undefined ? [sign, ...own, protocol.sync] : [block.before, ...own, block.after],
    );
    if (this.#block === undefined) this.#wire.awaitSign();
    await this.#require(bytes, { ...statement, apart }, (type, body) => {
      if (type === dataRow && isAsked) {
        isAsked = false;
        this.meetServer(body);
      } else if (type === rowDescription) prepared.fields = protocol.readRowDescription(body);
      else if (type === parameterDescription) prepared.parameterTypes = protocol.readParameterTypes(body);
    });
    try {
      await this.#learn(prepared);
    } catch (err) {
      await this.#close(name).catch(() => {});
      throw err;
    }
    return prepared;
  }

  /** Learns what is needed to read and write the values of a statement. */
  async #learn(prepared: Prepared): Promise<void> {
    const { name, fields = [], parameterTypes } = prepared;
    const cursor = fields.find(({ typeId }) => cursorTypes.has(typeId));
    if (cursor !== undefined) throw cursorRefused(cursor.name);
    const types = [...fields.map(({ typeId }) => typeId), ...parameterTypes].filter((id) => !isKnownType(id));
    prepared.hasServerTypes = types.length > 0;
    await learnTypes(types, this.serverTypes, (text) => this.rows(text, this.#types));
    const settings = fields.flatMap(({ typeId }) => formatsOf(typeId, this.serverTypes));
    if (settings.length > 0) prepared.check = checkOf([...new Set(settings)], name !== '');
  }

  /**
   * Forgets a statement whose plan is stale, so that it is prepared again. Throws RefusedPlan if it certainly did not
   * run.
   */
  async forgetStale(error: Buffer, key: string, { prepared, reader }: Failed): Promise<void> {
    const staleness = prepared.name === '' ? undefined : stalenessOf(error, [prepared.name, checkName]);
    if (staleness === undefined) return;
    const refused = staleness === 'refused' && !reader.bound;
    // SQL that dropped this statement may have dropped others.
    if (refused && isGone(error) && this.inTransaction) this.#forgetAll();
    else if (refused && isGone(error)) await this.clear();
    else await this.forget(key);
    if (refused) throw new RefusedPlan(error);
  }

  async forget(key: string): Promise<void> {
    const prepared = this.#prepared.get(key);
    if (prepared === undefined) return;
    this.#prepared.delete(key);
    this.#kept.give(prepared.weight);
    await this.#close(prepared.name);
  }

  /** The server forgets a statement that has a name. */
  async #close(name: string): Promise<void> {
    if (name === '') return;
    await this.#wire.exchange(Buffer.concat([protocol.closeStatement(name), protocol.sync]), () => {});
  }

  /** Forgets all statements, also at the server. */
  async clear(): Promise<void> {
    this.#forgetAll();
    await this.rows('DEALLOCATE ALL');
    await this.prepareCheck();
  }

  async prepareCheck(): Promise<void> {
    await this.#require(prepareCheck, undefined);
  }

  /** Runs a statement of the hub's own. Resolves to the rows as texts. */
  async rows(text: string, answer = new OwnAnswer(ownAnswerBytesMax)): Promise<(string | null)[][]> {
    const rows: (string | null)[][] = [];
    await this.#require(protocol.query(text), undefined, (type, body) => {
      if (type !== dataRow) return;
      answer.add(body.length, body.readUInt16BE(0));
      rows.push(protocol.readRow(body));
    });
    return rows;
  }

  async #require(
    bytes: Buffer,
    statement: Statement | undefined,
    onMessage: (type: number, body: Buffer) => void = () => {},
  ): Promise<void> {
    const { error, status } = await this.#wire.exchange(bytes, (type, source, start, end) =>
      onMessage(type, source.subarray(start, end)),
    );
    if (status !== 'I' && !this.inTransaction)
      await this.#wire.exchange(protocol.query('ROLLBACK'), () => {});
    if (error !== undefined)
      throw toHubError(error, statement, statement && this.charactersBefore(statement));
  }
}
