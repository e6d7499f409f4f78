/** A statement that the server has parsed. */

import type { Statement } from '../../ports/engine.ts';
import type { SinkColumn } from '../../ports/row-sink.ts';
import type { FormatsCheck } from './formats.ts';
import type { FieldDescription } from './protocol.ts';

export interface Prepared {
  /** Empty if the statement is parsed again for each run. */
  name: string;
  /** Undefined if the statement returns no rows. */
  fields: FieldDescription[] | undefined;
  parameterTypes: number[];
  /** Set if its parameters are those of `Statement.apart`. */
  apart: Statement['apart'];
  /** When the server inferred them, by `performance.now()`. */
  inferredAt: number;
  /** Undefined if no setting of the session decides how its values are written. */
  check: FormatsCheck | undefined;
  /** Set at the first run. */
  columns: readonly SinkColumn[] | undefined;
  /** Set at the first run for a sink that takes binary values. */
  binary: BinaryResult | undefined;
  /** True if its columns or parameters have types that are not built in. */
  hasServerTypes: boolean;
  /** The keys of statements with types of numbers that the server refuses, or answers with other columns. */
  textual?: Set<string>;
  /** What it counts while it is kept. */
  weight: number;
}

/** A result with columns in the binary format. */
export interface BinaryResult {
  columns: readonly SinkColumn[];
  /** The formats that Bind requests. */
  formats: Buffer;
}
