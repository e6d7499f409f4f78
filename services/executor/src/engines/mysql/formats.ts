/** Notices that a statement, or a routine that it calls, changed how the server writes the values of its result. */

import type { HubError } from '@datahub/service-kit/call/error';
import { formatError } from './errors.ts';
import type { Format } from './protocol.ts';
import type { ResultReader, TextRow } from './results.ts';

/** The names of the formats that are not the hub's own. */
const changedFormats =
  "SELECT 'time_zone' FROM DUAL WHERE @@time_zone <> '+00:00' UNION SELECT 'character_set_results' FROM DUAL WHERE NOT @@character_set_results <=> 'utf8mb4'";

export class SessionFormats {
  readonly #isMariadb: boolean;
  readonly #rows: (query: string) => Promise<TextRow[]>;
  /** Those that statements have set since the session was opened or reset. */
  readonly #foreign = new Set<string>();

  constructor(isMariadb: boolean, rows: (query: string) => Promise<TextRow[]>) {
    this.#isMariadb = isMariadb;
    this.#rows = rows;
  }

  note(changed: Iterable<Format>): void {
    for (const name of changed) this.#foreign.add(name);
  }

  clear(): void {
    this.#foreign.clear();
  }

  /** False after nearly all statements. */
  mayDiffer({ sessionChanged, changed }: ResultReader): boolean {
    return sessionChanged || changed.size > 0 || this.#foreign.size > 0;
  }

  /** The error if the values of the result were written in other formats than the hub reads. */
  async changeIn({
    formats: needed,
    sessionChanged,
    changed: noted,
  }: ResultReader): Promise<HubError | undefined> {
    this.note(noted);
    // MariaDB reports behind rows that the session changed, but not what.
    if (sessionChanged && this.#isMariadb && needed.size > 0)
      for (const [name] of await this.#rows(changedFormats)) this.#foreign.add(name as string);
    const changed = [...needed].find((name) => this.#foreign.has(name));
    return changed && formatError(changed);
  }
}
