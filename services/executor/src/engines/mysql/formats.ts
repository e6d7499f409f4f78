/** Notices that a statement, or a routine that it calls, changed how the server writes the values of its result. */

import type { HubError } from '@datahub/service-kit/call/error';
import { formatError, outTextError } from './errors.ts';
import type { OkPacket } from './protocol.ts';
import type { ResultReader, TextRow } from './results.ts';
import { changedValues, restoreValues } from './session.ts';
import { literal, wordsOf } from './text.ts';

/** The names of the formats that are not the hub's own. */
const changedFormats =
  "SELECT 'time_zone' FROM DUAL WHERE @@time_zone <> '+00:00' UNION SELECT 'character_set_results' FROM DUAL WHERE NOT @@character_set_results <=> 'utf8mb4'";

/**
 * Whether the texts of OUT parameters are in UTF-8, of each procedure that a text may name. A parameter that names no
 * character set has that of its database, and PARAMETERS then says that of the session's database.
 */
const outCharsets = (text: string) => {
  const words = [...wordsOf(text)].slice(0, wordsMax).map(literal).join(',');
  return `
    SELECT DISTINCT r.DATABASE_COLLATION LIKE 'utf8%' AND p.CHARACTER_SET_NAME LIKE 'utf8%'
    FROM information_schema.ROUTINES r JOIN information_schema.PARAMETERS p
      ON p.SPECIFIC_SCHEMA = r.ROUTINE_SCHEMA AND p.SPECIFIC_NAME = r.SPECIFIC_NAME
    WHERE (r.ROUTINE_SCHEMA = DATABASE() OR r.ROUTINE_SCHEMA IN (${words})) AND r.SPECIFIC_NAME IN (${words})
      AND p.PARAMETER_MODE IN ('OUT', 'INOUT') AND p.CHARACTER_SET_NAME IS NOT NULL`;
};
/** If the user may see no such procedure. */
const databaseCharset = "SELECT @@character_set_database LIKE 'utf8%'";
/** Far more than a CALL has. */
const wordsMax = 1_000;

type Noted = Pick<OkPacket, 'sessionChanged' | 'changed'>;

interface Session {
  isMariadb: boolean;
  /** Run commands of the hub's own. */
  rows(query: string): Promise<TextRow[]>;
  command(bytes: Buffer): Promise<void>;
}

export class SessionFormats {
  readonly #session: Session;
  /** Those that statements have set since the session was opened or reset. */
  readonly #foreign = new Set<string>();
  /** Whether statements have changed the session since then. */
  #hasChanged = false;

  constructor(session: Session) {
    this.#session = session;
  }

  note({ sessionChanged, changed }: Noted): void {
    if (sessionChanged) this.#hasChanged = true;
    for (const name of changed) this.#foreign.add(name);
  }

  clear(): void {
    this.#foreign.clear();
    this.#hasChanged = false;
  }

  /** False after nearly all statements. */
  mayDiffer(reader: ResultReader): boolean {
    const { sessionChanged, changed } = reader;
    const isChanged = sessionChanged || changed.size > 0 || this.#hasChanged || this.#foreign.size > 0;
    return isChanged || this.#hasForeignOut(reader);
  }

  /** MariaDB converts the texts of OUT parameters. */
  #hasForeignOut = ({ hasForeignOut }: ResultReader) => hasForeignOut && !this.#session.isMariadb;

  /**
   * Resolves to the error if the values of the result were written in other formats than the hub reads. If the transaction
   * stays open, its next statement finds the hub's settings.
   */
  async settle(reader: ResultReader, text: string, staysOpen: boolean): Promise<HubError | undefined> {
    this.note(reader);
    // MariaDB reports behind rows that the session changed, but not what. Behind a cut result neither server does.
    const isToldWhat = !this.#session.isMariadb && !reader.isCut;
    if (reader.sessionChanged && !isToldWhat && reader.formats.size > 0)
      for (const [name] of await this.#session.rows(changedFormats)) this.#foreign.add(name as string);
    const changed = [...reader.formats].find((name) => this.#foreign.has(name));
    if (changed !== undefined) return formatError(changed);
    if (this.#hasForeignOut(reader) && !(await this.#areInUtf8(text))) return outTextError();
    if (staysOpen) await this.restore();
    return undefined;
  }

  /** The procedure has been called, so a failure here is not its own. */
  async #areInUtf8(text: string): Promise<boolean> {
    const known = await this.#session.rows(outCharsets(text)).catch(() => []);
    const found = known.length > 0 ? known : await this.#session.rows(databaseCharset);
    return found.every(([isUtf8]) => isUtf8 === '1');
  }

  /** Resolves to the names of the settings of values and statements that were not the hub's. */
  async restore(): Promise<string[]> {
    this.clear();
    const [rows] = await Promise.all([
      this.#session.rows(changedValues),
      this.#session.command(restoreValues),
    ]);
    return rows.map(([name]) => name as string);
  }
}
