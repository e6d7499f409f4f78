/** Reads the rows of a run: compares them with those of the run before, and collects what the watch tells. */

import { createHash } from 'node:crypto';
import { comparedRowsMax, isComparing, toldBytesMax } from '@datahub/contract/watches';
import type { RowChanges, Snapshot, WatchSettings } from '@datahub/proto/catalog/v1/watches';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield, type MayYield } from '@datahub/service-kit/yield-to-loop';
import type { Row } from '../rows/row-reader.ts';
import { isMet } from './condition.ts';

const digestBytes = 16;
const digestOf = (text: string): Buffer =>
  createHash('sha256').update(text).digest().subarray(0, digestBytes);
const digestMask = (1n << BigInt(8 * digestBytes)) - 1n;

/** What a run found. */
export interface Found {
  rows: number;
  changes?: RowChanges;
  isMet?: boolean;
  /** Absent if the rows are those of the run before. */
  snapshot?: Snapshot;
  toldNdjson: Buffer;
}

export type FoundSettings = Pick<WatchSettings, 'when' | 'condition' | 'by' | 'include'>;

/** The rows of the run before, with their digest. */
export type Before = Snapshot;

/** What a row that is compared takes in memory: two digests as texts, and their place in a map. */
const comparedRowBytes = 200;

/** What so many rows take to be compared with. */
export const comparedBytesOf = (rows: number): number => rows * comparedRowBytes;

/** How many rows a digest of all rows is of. */
export const rowsOfDigest = (digest: string): number => Number.parseInt(digest, 10);

/** What the rows of the run before take. */
const keptBytesOf = (before: Before | undefined): number =>
  before === undefined ? 0 : before.ndjson.length + comparedBytesOf(before.rows.length / (2 * digestBytes));

export class FoundRows {
  readonly #settings: FoundSettings;
  readonly #before: Before | undefined;
  /** The digest of the values of each row, by that of its key, as Latin-1. */
  readonly #known: Map<string, string> | undefined;
  readonly #seen = new Map<string, string>();
  /** How often a row without a key of its own has come. */
  readonly #repeats = new Map<string, number>();
  /** In the order of `#seen`; only if rows that are gone are told. */
  readonly #lines: string[] = [];
  readonly #told: string[] = [];
  #toldBytes = 0;
  #sum = 0n;
  #rows = 0;
  #isMet = false;
  #changes: RowChanges = { new: 0, changed: 0, gone: 0 };
  /** The columns of the settings that no row has had. Documents can lack members, so one row does not tell. */
  readonly #missing: Set<string>;

  constructor(settings: FoundSettings, before: Before | undefined) {
    this.#settings = settings;
    this.#before = before;
    const { by, include, condition } = settings;
    this.#missing = new Set([...by, ...include, ...(condition === undefined ? [] : [condition.column])]);
    this.#known = before && toMap(before.rows);
  }

  /** What it takes in memory, about. */
  get keptBytes(): number {
    return keptBytesOf(this.#before) + this.#seen.size * comparedRowBytes + this.#toldBytes;
  }

  /** Throws RESULT_TOO_LARGE, KEY_NOT_UNIQUE, or VALIDATION for a row that cannot be read. */
  add({ number, values }: Row): void {
    if (typeof values === 'string') throw new HubError('VALIDATION', `Row ${number} ${values}.`);
    this.#rows += 1;
    for (const name of this.#missing) if (values.has(name)) this.#missing.delete(name);
    const { when, condition } = this.#settings;
    if (isComparing(when)) this.#compare(values);
    else if (when === 'always') this.#tell(values);
    else if (condition !== undefined && isMet(condition, columnOf(values, condition.column))) {
      this.#isMet = true;
      this.#tell(values);
    }
  }

  /** Throws VALIDATION if no row has one of the columns. */
  async finish(): Promise<Found> {
    if (this.#rows > 0) this.#requireColumns();
    const mayYield = createLoopYield();
    const { when, include } = this.#settings;
    const found: Found = { rows: this.#rows, toldNdjson: Buffer.alloc(0) };
    if (when === 'condition') found.isMet = this.#isMet;
    if (isComparing(when)) {
      const snapshot = await this.#snapshot(mayYield);
      if (snapshot.digest !== this.#before?.digest) found.snapshot = snapshot;
      if (this.#known !== undefined) {
        await this.#findGone(this.#known, mayYield);
        found.changes = this.#changes;
      }
    }
    // The first run is what later ones are compared with, and tells nothing.
    const tells = include.length > 0 && (!isComparing(when) || this.#known !== undefined);
    if (tells) found.toldNdjson = Buffer.from(this.#told.join(''));
    return found;
  }

  #compare(values: ReadonlyMap<string, string>): void {
    if (this.#seen.size >= comparedRowsMax) {
      const message = `A watch compares at most ${comparedRowsMax} rows, and the query returned more.`;
      throw new HubError('RESULT_TOO_LARGE', message);
    }
    const row = digestOf(JSON.stringify([...values]));
    const key = this.#keyOf(values, row);
    const rowText = row.toString('latin1');
    this.#seen.set(key, rowText);
    const both = createHash('sha256').update(key, 'latin1').update(row).digest('hex');
    this.#sum = (this.#sum + BigInt(`0x${both.slice(0, 2 * digestBytes)}`)) & digestMask;
    const { when } = this.#settings;
    if (when === 'gone') this.#keep(values);
    if (this.#known === undefined) return;
    const before = this.#known.get(key);
    const change = before === undefined ? 'new' : before === rowText ? undefined : 'changed';
    if (change !== undefined) this.#changes[change] += 1;
    if (change === when) this.#tell(values);
  }

  #keyOf(values: ReadonlyMap<string, string>, row: Buffer): string {
    const { by } = this.#settings;
    if (by.length === 0) {
      // Equal rows are told apart by their number, so that one more of them is new.
      const text = row.toString('latin1');
      const repeat = (this.#repeats.get(text) ?? 0) + 1;
      this.#repeats.set(text, repeat);
      return digestOf(`${text} ${repeat}`).toString('latin1');
    }
    const key = digestOf(JSON.stringify(by.map((name) => columnOf(values, name)))).toString('latin1');
    if (!this.#seen.has(key)) return key;
    this.#requireColumns();
    const message = `Two rows have the same values of ${by.join(', ')}. Name columns in by that tell all rows apart.`;
    throw new HubError('KEY_NOT_UNIQUE', message);
  }

  #requireColumns(): void {
    const [name] = this.#missing;
    if (name !== undefined) throw new HubError('VALIDATION', `The rows have no column ${name}.`);
  }

  /** The values of a row that may leave the hub. */
  #lineOf(values: ReadonlyMap<string, string>): string {
    const members = this.#settings.include.map((name) => `${JSON.stringify(name)}:${columnOf(values, name)}`);
    return `{${members.join(',')}}\n`;
  }

  #tell(values: ReadonlyMap<string, string>): void {
    if (this.#settings.include.length === 0) return;
    this.#told.push(this.#bounded(this.#lineOf(values)));
  }

  #keep(values: ReadonlyMap<string, string>): void {
    if (this.#settings.include.length === 0) return;
    this.#lines.push(this.#bounded(this.#lineOf(values)));
  }

  #bounded(line: string): string {
    this.#toldBytes += Buffer.byteLength(line);
    if (this.#toldBytes <= toldBytesMax) return line;
    const message = `The rows to tell have more than ${toldBytesMax} bytes in the columns of include.`;
    throw new HubError('RESULT_TOO_LARGE', message);
  }

  async #snapshot(mayYield: MayYield): Promise<Snapshot> {
    const rows = Buffer.alloc(2 * digestBytes * this.#seen.size);
    let at = 0;
    for (const [key, row] of this.#seen) {
      rows.write(key, at, 'latin1');
      rows.write(row, at + digestBytes, 'latin1');
      at += 2 * digestBytes;
      await mayYield();
    }
    const digest = `${this.#seen.size} ${this.#sum.toString(16)}`;
    return { digest, rows, ndjson: Buffer.from(this.#lines.join('')) };
  }

  async #findGone(known: ReadonlyMap<string, string>, mayYield: MayYield): Promise<void> {
    const lines = this.#before?.ndjson.toString().split('\n') ?? [];
    let at = 0;
    for (const key of known.keys()) {
      await mayYield();
      const line = lines[at++];
      if (this.#seen.has(key)) continue;
      this.#changes.gone += 1;
      if (this.#settings.when === 'gone' && line) this.#told.push(`${line}\n`);
    }
  }
}

/** A member that a document lacks counts as NULL. */
const columnOf = (values: ReadonlyMap<string, string>, name: string): string => values.get(name) ?? 'null';

function toMap(rows: Uint8Array): Map<string, string> {
  const text = Buffer.from(rows).toString('latin1');
  const known = new Map<string, string>();
  for (let at = 0; at < text.length; at += 2 * digestBytes)
    known.set(text.slice(at, at + digestBytes), text.slice(at + digestBytes, at + 2 * digestBytes));
  return known;
}
