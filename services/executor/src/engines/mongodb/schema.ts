/**
 * Reads the collections that the source's user may see. The fields are those of a sample of documents, because MongoDB
 * has no catalog of them. Replies stay bytes: a sample can have 16 MiB, of which only names and types are needed.
 */

import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { Document } from 'mongodb';
import type { ColumnInfo, Schema, SchemaTable } from '../../ports/engine.ts';
import {
  type Element,
  eachElement,
  everyElements,
  findElement,
  inSlices,
  misfit,
  nameOf,
  requireElement,
  typeNames,
  types,
} from '../../result/values/bson-reader.ts';
import { OwnAnswer, schemaBytesMax } from '../shared/bounds.ts';
import { schemaColumnsMax } from '../shared/schema-tables.ts';

const collectionsMax = 200;
/** Of the names of so many collections, and far more. */
const listBytesMax = 1_048_576;
const documentsMax = 20;
/** Read before the clock is looked at. */
const elementsPerSlice = 1_000;

/** Resolves to the whole reply of a command. */
type Ask = (command: Document) => Promise<Buffer>;

export async function readSchema(database: string, ask: Ask): Promise<Schema> {
  const listed = await ask({
    listCollections: 1,
    nameOnly: true,
    authorizedCollections: true,
    cursor: { batchSize: collectionsMax },
  });
  if (listed.length > listBytesMax) throw misfit();
  const tables: SchemaTable[] = [];
  const fields = new SampledFields();
  let isTruncated = false;
  for (const { name, isView } of collectionsOf(listed)) {
    const columns = await fields.of(await ask({ find: name, limit: documentsMax, singleBatch: true }));
    isTruncated = columns === undefined;
    if (columns === undefined) break;
    const kind = isView ? 'view' : 'table';
    tables.push({ schema: database, name, kind, columns, primaryKey: [], foreignKeys: [] });
  }
  tables.sort((a, b) => (a.name < b.name ? -1 : 1));
  const id = cursorIdOf(listed);
  if (id !== 0n) await ask({ killCursors: '$cmd.listCollections', cursors: [id] });
  return { tables, ...((id !== 0n || isTruncated) && { truncated: true }) };
}

/** 0 if the cursor has ended. */
function cursorIdOf(reply: Buffer): bigint {
  const id = findElement(reply, cursorAt(reply), 'id');
  return id?.type === types.int64 ? reply.readBigInt64LE(id.at) : 0n;
}

const cursorAt = (reply: Buffer): number =>
  requireElement(reply, 0, { name: 'cursor', type: types.document }).at;

const batchAt = (reply: Buffer): number =>
  requireElement(reply, cursorAt(reply), { name: 'firstBatch', type: types.array }).at;

function collectionsOf(reply: Buffer): { name: string; isView: boolean }[] {
  const found: { name: string; isView: boolean }[] = [];
  const textOf = ({ at, end }: Element) => reply.toString('utf8', at + 4, end - 1);
  eachElement(reply, batchAt(reply), ({ type, at }) => {
    if (type !== types.document) throw misfit();
    const name = textOf(requireElement(reply, at, { name: 'name', type: types.string }));
    const kind = findElement(reply, at, 'type');
    const isView = kind?.type === types.string && textOf(kind) === 'view';
    if (!name.startsWith('system.')) found.push({ name, isView });
    return found.length < collectionsMax;
  });
  return found;
}

interface Field {
  types: Set<string>;
  /** The documents in which it has a value. */
  count: number;
}

/** The fields of all collections, up to a limit. */
class SampledFields {
  readonly #mayYield = createLoopYield();
  #count = 0;
  readonly #answer = new OwnAnswer(schemaBytesMax);

  /**
   * The fields of the documents of a reply; undefined if there are too many. A field is nullable if some documents lack it
   * or have null. Several types are joined with a bar.
   */
  async of(reply: Buffer): Promise<ColumnInfo[] | undefined> {
    const seen = new Map<string, Field>();
    const documents: number[] = [];
    eachElement(reply, batchAt(reply), ({ type, at }) => {
      if (type !== types.document) throw misfit();
      return documents.push(at) < documentsMax;
    });
    for (const start of documents) if (!(await this.#read(reply, start, seen))) return undefined;
    return [...seen].map(([name, { types: found, count }]) => ({
      name,
      type: [...found].sort().join(' | ') || 'null',
      nullable: count < documents.length,
    }));
  }

  async #read(reply: Buffer, start: number, seen: Map<string, Field>): Promise<boolean> {
    const slices = inSlices(reply, start, {
      onElement: (element) => {
        this.#add(nameOf(reply, element), element, seen);
        return this.#count <= schemaColumnsMax;
      },
      endsSlice: everyElements(elementsPerSlice),
    });
    for (const _ of slices) await this.#mayYield();
    await this.#mayYield();
    return this.#count <= schemaColumnsMax;
  }

  #add(name: string, { type, start, nameEnd }: Element, seen: Map<string, Field>): void {
    let field = seen.get(name);
    if (field === undefined) {
      field = { types: new Set(), count: 0 };
      seen.set(name, field);
      this.#count++;
      this.#answer.add(nameEnd - start);
    }
    if (type === types.null || type === types.undefined) return;
    field.types.add(typeNames[type] ?? 'unknown');
    field.count++;
  }
}
