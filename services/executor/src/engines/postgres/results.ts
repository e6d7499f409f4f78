/** Reads the response to an execution: rows into the sink, the count of what was done, and what went wrong on the way. */

import type { Outcome } from '../../engine.ts';
import type { RowSink } from '../../rows/row-sink.ts';
import type { Prepared } from './statements.ts';
import { checked, encoderOf, isJson, type ServerType, typeName } from './values.ts';
import type { OnMessage } from './wire.ts';

export interface ResultOptions {
  prepared: Prepared;
  sink: RowSink;
  /** Filled as the response is read. */
  outcome: Outcome;
  serverTypes: ReadonlyMap<number, ServerType>;
  /** False where texts may be no UTF-8. */
  checksTexts: boolean;
  /** Commands that complete before the statement’s own. */
  commandsBefore: number;
  rowsMax: number | undefined;
  discarding: () => boolean;
  pause: () => void;
  resume: () => void;
}

export interface ResultReader {
  onMessage: OnMessage;
  /** True once the sink was told its columns. */
  readonly begun: boolean;
  /** Why a row could not be written; the rows after it were left. */
  readonly failure: unknown;
}

const code = (letter: string) => letter.charCodeAt(0);
const dataRow = code('D');
const commandComplete = code('C');
const portalSuspended = code('s');

export function createResultReader(options: ResultOptions): ResultReader {
  const { prepared, sink, outcome } = options;
  const offsets = new Int32Array((prepared.fields?.length ?? 0) * 2);
  const rowsMax = options.rowsMax ?? Number.POSITIVE_INFINITY;
  let completed = -options.commandsBefore;
  let begun = false;
  let failure: unknown;

  const begin = () => {
    if (!begun) beginRows(options);
    begun = true;
  };
  const row = (source: Buffer, start: number): void => {
    if (outcome.rowCount >= rowsMax) {
      outcome.truncated = true;
      return;
    }
    outcome.rowCount++;
    if (failure !== undefined || options.discarding()) return;
    findFields(source, start, offsets);
    try {
      sink.row(source, offsets);
    } catch (err) {
      failure = err;
    }
    if (sink.full) options.pause();
  };

  return {
    get begun() {
      return begun;
    },
    get failure() {
      return failure;
    },
    onMessage: (type, source, start, end) => {
      if (type === dataRow && completed === 0) {
        begin();
        row(source, start);
      } else if (type === commandComplete || type === portalSuspended) {
        if (completed === 0) begin();
        if (completed === 0 && type === commandComplete)
          readTag(source.toString('latin1', start, end - 1), outcome);
        completed++;
      }
    },
  };
}

function beginRows({ prepared, sink, serverTypes, checksTexts, resume }: ResultOptions): void {
  const { fields } = prepared;
  if (fields === undefined) return;
  sink.begin(
    fields.map(({ name, typeId, modifier }) => {
      const encode = encoderOf(typeId, { modifier, numbers: sink.numbers, serverTypes });
      return {
        name,
        type: typeName(typeId, serverTypes),
        encode: checksTexts ? encode : checked(encode),
        isJson: isJson(typeId),
      };
    }),
  );
  sink.onDrain(resume);
}

/** The number of fields, then each with its length before it; -1 for NULL. */
function findFields(source: Buffer, start: number, offsets: Int32Array): void {
  let at = start + 2;
  for (let i = 0; i < offsets.length; i += 2) {
    const length = source.readInt32BE(at);
    at += 4;
    offsets[i] = length < 0 ? -1 : at;
    if (length > 0) at += length;
    offsets[i + 1] = at;
  }
}

function readTag(tag: string, outcome: Outcome): void {
  const count = Number(/ (\d+)$/.exec(tag)?.[1] ?? Number.NaN);
  if (!outcome.hasRows) outcome.affectedRows = Number.isNaN(count) ? 0 : count;
}
