import type { DatabaseSync } from 'node:sqlite';
import { HubError } from '@datahub/service-kit/call/error';
import { isStale, type Shape } from '../collection-spec.ts';
import { formatVersion } from '../document-store.ts';

/** Identifies the hub's files in their header ("DHub"). */
const applicationId = 0x44487562;

export function tableOf(shape: Shape): string {
  return `"c_${shape.name}"`;
}

export function fieldColumn(name: string): string {
  return `"f_${name}"`;
}

export function counterColumn(name: string): string {
  return `"n_${name}"`;
}

export function bytesColumn(name: string): string {
  return `"b_${name}"`;
}

/** The name of the index of these fields; without fields, of the narrow index of ids. */
export function indexOf(shape: Shape, fields: readonly string[]): string {
  return `"${['i', shape.name, ...fields].join('_')}"`;
}

/** The fields of the index that serves a filter by these: a pair of them, or the first. */
export function indexedFields(shape: Shape, filtered: readonly string[]): readonly string[] {
  const pair = shape.pairs?.find((fields) => fields.every((field) => filtered.includes(field)));
  return pair ?? filtered.slice(0, 1);
}

/**
 * One table for each collection. The key is (account_id, id) without rowid, so the rows of an account are contiguous on
 * disk, and an id reveals nothing about other accounts.
 */
export function prepareSchema(db: DatabaseSync, shapes: readonly Shape[]): void {
  checkFormat(db);
  requireOwn(db, shapes);
  // Writes nothing if the schema is current, so that the hub starts on a full disk.
  if (isPrepared(db, shapes)) return;
  db.exec(`BEGIN IMMEDIATE;
    PRAGMA application_id = ${applicationId};
    PRAGMA user_version = ${formatVersion};
    CREATE TABLE IF NOT EXISTS collections (name TEXT PRIMARY KEY, spec TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, at INTEGER NOT NULL)`);
  try {
    for (const shape of shapes) prepareCollection(db, shape);
    db.exec('COMMIT');
  } catch (err) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw err;
  }
}

/** A file whose collections are all unknown belongs to another service: two files were exchanged. */
function requireOwn(db: DatabaseSync, shapes: readonly Shape[]): void {
  const tables = db
    .prepare(String.raw`SELECT name FROM sqlite_schema WHERE name LIKE 'c\_%' ESCAPE '\'`)
    .all();
  const own = new Set(shapes.map(({ name }) => `c_${name}`));
  if (shapes.length === 0 || tables.length === 0 || tables.some(({ name }) => own.has(String(name)))) return;
  throw new HubError(
    'UNAVAILABLE',
    'The store file belongs to another service of the hub: catalog.db and ml.db were exchanged.',
    { retryable: false },
  );
}

function isPrepared(db: DatabaseSync, shapes: readonly Shape[]): boolean {
  if (pragma(db, 'user_version') !== formatVersion || pragma(db, 'application_id') !== applicationId)
    return false;
  const known = new Map(
    db
      .prepare('SELECT name, spec FROM collections')
      .all()
      .map((row) => [row.name, row.spec]),
  );
  return shapes.every((shape) => known.get(shape.name) === JSON.stringify(shape));
}

function checkFormat(db: DatabaseSync): void {
  const version = pragma(db, 'user_version');
  const application = pragma(db, 'application_id');
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() ?? {};
  if (application !== applicationId && (version !== 0 || tables !== 0)) {
    throw new HubError(
      'UNAVAILABLE',
      'The store file contains other data. Name another directory in the store URL.',
    );
  }
  if (version > formatVersion) {
    throw new HubError(
      'UNAVAILABLE',
      `The store file has format ${version}; this version of the hub reads format ${formatVersion}. Start a newer version.`,
    );
  }
}

export function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

function prepareCollection(db: DatabaseSync, shape: Shape): void {
  const spec = JSON.stringify(shape);
  const known = db.prepare('SELECT spec FROM collections WHERE name = ?').get(shape.name);
  if (known?.spec === spec) return;
  createTable(db, shape);
  if (known !== undefined && isStale(String(known.spec), shape)) refillFields(db, shape);
  createIndexes(db, shape);
  db.prepare('INSERT OR REPLACE INTO collections (name, spec) VALUES (?, ?)').run(shape.name, spec);
}

function createTable(db: DatabaseSync, shape: Shape): void {
  const table = tableOf(shape);
  db.exec(`CREATE TABLE IF NOT EXISTS ${table} (account_id TEXT NOT NULL, id TEXT NOT NULL,
    version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (account_id, id)) WITHOUT ROWID`);
  const rows = db.prepare(`SELECT name FROM pragma_table_info('c_${shape.name}')`).all();
  const present = new Set(rows.map((row) => `"${row.name}"`));
  const columns = [
    // Without a type SQLite does not convert the values.
    ...shape.fields.map((name) => [fieldColumn(name), '']),
    ...shape.counters.map((name) => [counterColumn(name), ' NOT NULL DEFAULT 0']),
    ...shape.bytes.map((name) => [bytesColumn(name), ' BLOB']),
  ];
  for (const [column, type] of columns) {
    if (!present.has(column ?? '')) db.exec(`ALTER TABLE ${table} ADD COLUMN ${column}${type}`);
  }
}

/** Recomputes the columns from the bodies after a change of the specification. */
function refillFields(db: DatabaseSync, shape: Shape): void {
  if (shape.fields.length === 0) return;
  const sets = shape.fields.map((name) => `${fieldColumn(name)} = json_extract(body, '$.${name}')`);
  db.exec(`UPDATE ${tableOf(shape)} SET ${sets.join(', ')}`);
}

/** Creates what is missing. An index that stays the same is not built again, which takes long for a large file. */
function createIndexes(db: DatabaseSync, shape: Shape): void {
  const wanted = new Set(indexesOf(shape));
  const old = db
    .prepare('SELECT name, sql FROM sqlite_schema WHERE type = ? AND tbl_name = ? AND sql IS NOT NULL')
    .all('index', `c_${shape.name}`);
  for (const { name, sql } of old) if (!wanted.delete(String(sql))) db.exec(`DROP INDEX "${name}"`);
  for (const sql of wanted) db.exec(sql);
}

/** The statements that create the indexes, as SQLite stores them. */
function indexesOf(shape: Shape): string[] {
  const table = tableOf(shape);
  // Offsets and counts read this narrow index instead of the rows with their bodies.
  const summaryById = shape.summaryBy === undefined ? shape.summaryFields.map(fieldColumn) : [];
  const keys = ['account_id', 'id', ...summaryById].join(', ');
  const statements = [`CREATE INDEX ${indexOf(shape, [])} ON ${table} (${keys})`];
  for (const fields of [...shape.indexes.map((name) => [name]), ...(shape.pairs ?? [])]) {
    // The index covers the other indexed fields, so that a filter by several fields does not read the rows.
    const summary = fields.length === 1 && fields[0] === shape.summaryBy ? shape.summaryFields : [];
    const covered = new Set([...shape.indexes, ...summary]);
    for (const name of fields) covered.delete(name);
    const columns = [...fields.map(fieldColumn), 'id', ...[...covered].map(fieldColumn)].join(', ');
    statements.push(`CREATE INDEX ${indexOf(shape, fields)} ON ${table} (account_id, ${columns})`);
  }
  for (const name of shape.unique)
    statements.push(`CREATE UNIQUE INDEX "u_${shape.name}_${name}" ON ${table} (${fieldColumn(name)})`);
  for (const { field, within } of shape.uniqueWithin ?? []) {
    const column = fieldColumn(field);
    const columns = ['account_id', ...(within === undefined ? [] : [fieldColumn(within)]), column].join(', ');
    statements.push(
      `CREATE UNIQUE INDEX "u_${shape.name}_${field}" ON ${table} (${columns}) WHERE ${column} IS NOT NULL`,
    );
  }
  const { expires, expiresBy, due } = shape;
  const ofTime = (prefix: string, field: string | undefined, by?: string) => {
    if (field === undefined) return;
    const columns = [...(by === undefined ? [] : [by]), field].map(fieldColumn).join(', ');
    const name = `"${prefix}_${shape.name}"`;
    statements.push(`CREATE INDEX ${name} ON ${table} (${columns}) WHERE ${fieldColumn(field)} IS NOT NULL`);
  };
  ofTime('x', expires, expiresBy);
  ofTime('d', due);
  return statements;
}
