/**
 * Reads the collections that the source's user may see. The fields are those of a sample of documents, because MongoDB
 * has no catalog of them.
 */

import type { Document } from 'mongodb';
import type { ColumnInfo, Schema, SchemaTable } from '../../ports/engine.ts';

const collectionsMax = 200;
const documentsMax = 20;

type Ask = (command: Document) => Promise<Document>;

export async function readSchema(database: string, ask: Ask): Promise<Schema> {
  const listed = await ask({
    listCollections: 1,
    nameOnly: true,
    authorizedCollections: true,
    cursor: { batchSize: collectionsMax },
  });
  const tables: SchemaTable[] = [];
  for (const { name, type } of listed.cursor.firstBatch) {
    if (String(name).startsWith('system.')) continue;
    const sampled = await ask({ find: name, limit: documentsMax, singleBatch: true });
    tables.push({
      schema: database,
      name,
      kind: type === 'view' ? 'view' : 'table',
      columns: columnsOf(sampled.cursor.firstBatch),
      primaryKey: [],
      foreignKeys: [],
    });
  }
  tables.sort((a, b) => (a.name < b.name ? -1 : 1));
  const { id } = listed.cursor;
  if (String(id) === '0') return { tables };
  await ask({ killCursors: '$cmd.listCollections', cursors: [id] });
  return { tables, truncated: true };
}

/** A field is nullable if some documents lack it or have null. Several types are joined with a bar. */
function columnsOf(documents: Document[]): ColumnInfo[] {
  const seen = new Map<string, { types: Set<string>; count: number }>();
  for (const document of documents) {
    for (const [name, value] of Object.entries(document)) {
      const field = seen.get(name) ?? { types: new Set<string>(), count: 0 };
      seen.set(name, field);
      if (value === null || value === undefined) continue;
      field.types.add(typeOf(value));
      field.count++;
    }
  }
  return [...seen].map(([name, { types, count }]) => ({
    name,
    type: [...types].sort().join(' | ') || 'null',
    nullable: count < documents.length,
  }));
}

const bsonTypes: Record<string, string> = {
  ObjectId: 'objectId',
  Binary: 'binData',
  UUID: 'binData',
  Decimal128: 'decimal',
  Long: 'long',
  Int32: 'int',
  Double: 'double',
  Timestamp: 'timestamp',
  BSONRegExp: 'regex',
  BSONSymbol: 'symbol',
  Code: 'javascript',
  DBRef: 'object',
  MinKey: 'minKey',
  MaxKey: 'maxKey',
};

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value instanceof Date) return 'date';
  if (value instanceof RegExp) return 'regex';
  const { _bsontype: kind } = value as { _bsontype?: string };
  if (kind !== undefined) return bsonTypes[kind] ?? kind;
  const plain: Record<string, string> = { string: 'string', boolean: 'bool', bigint: 'long' };
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'double';
  return plain[typeof value] ?? 'object';
}
