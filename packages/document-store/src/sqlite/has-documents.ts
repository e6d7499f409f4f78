import type { DatabaseSync } from 'node:sqlite';
import { openFile } from './store.ts';

/** True if a store file has a document. False if it cannot be read now, as while another process has it open. */
export function hasDocuments(path: string): boolean {
  let db: DatabaseSync | undefined;
  try {
    db = openFile(path, {});
    const tables = db
      .prepare(String.raw`SELECT name FROM sqlite_schema WHERE name LIKE 'c\_%' ESCAPE '\'`)
      .all();
    return tables.some(({ name }) => db?.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() !== undefined);
  } catch {
    return false;
  } finally {
    db?.close();
  }
}
