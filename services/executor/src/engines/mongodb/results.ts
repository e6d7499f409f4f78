/**
 * Converts replies to rows. Formats of documents get whole documents. Formats of columns get the fields that the command
 * names, else those of the first document.
 */

import { HubError } from '@datahub/service-kit/call/error';
import type { Document } from 'mongodb';
import type { ColumnKind } from '../../ports/column-kind.ts';
import type { DescribedColumn, Outcome } from '../../ports/engine.ts';
import type { RowSink, SinkColumn } from '../../ports/row-sink.ts';
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
import { elementsMax, tooManyElements } from '../../result/values/elements.ts';
import { RowTooLarge } from '../shared/bounds.ts';

/** A reply to `distinct` comes as a whole, with up to millions of values. */
const valuesPerSlice = 1_000;
/** Of the documents of a reply, which has up to 16 MiB of them. */
const bytesPerSlice = 32_768;
/** More than other engines have columns. What is derived from one takes some 500 bytes. */
const fieldsMax = 4_096;

export interface RowsOptions {
  sink: RowSink;
  rowBytesMax: number;
  command: Document;
}

export class DocumentRows {
  readonly outcome: Outcome = { hasRows: true };
  readonly #options: RowsOptions;
  /** The index of each field in a row of columns, by name. */
  #columns: Map<string, number> | undefined;
  #offsets = new Int32Array(0);

  constructor(options: RowsOptions) {
    this.#options = options;
  }

  /** Writes the documents of a reply. Yields between slices of them, and when the sink is full. */
  batch(reply: Buffer): Iterable<void> {
    const { at } = requireElement(reply, 0, { name: 'cursor', type: types.document });
    const documents =
      findElement(reply, at, 'nextBatch') ??
      requireElement(reply, at, { name: 'firstBatch', type: types.array });
    if (documents.type !== types.array) throw misfit();
    let sliceEnd = documents.at + bytesPerSlice;
    return inSlices(reply, documents.at, {
      onElement: (document) => {
        if (document.type !== types.document) throw misfit();
        return this.#document(reply, document);
      },
      endsSlice: ({ end }) => {
        if (end < sliceEnd && !this.#options.sink.full) return false;
        sliceEnd = end + bytesPerSlice;
        return true;
      },
    });
  }

  /** Writes the reply to `count` as one row with the number. */
  count(reply: Buffer): void {
    const count = findElement(reply, 0, 'n');
    if (count === undefined) throw misfit();
    this.#begin([{ name: 'count', type: typeNames[count.type] ?? '' }]);
    this.#values(reply, count);
  }

  /** Writes the reply to `distinct` as one row per value. Yields between slices of the values. */
  distinct(reply: Buffer): Iterable<void> {
    const { at } = requireElement(reply, 0, { name: 'values', type: types.array });
    return inSlices(reply, at, {
      onElement: (value) => {
        this.#begin([{ name: 'value', type: typeNames[value.type] ?? '' }]);
        return this.#values(reply, value);
      },
      endsSlice: everyElements(valuesPerSlice),
    });
  }

  end(): Outcome {
    this.#begin(namedFields(this.#options.command) ?? []);
    return this.outcome;
  }

  #begin(columns: Field[]): void {
    if (this.#columns !== undefined) return;
    this.#columns = new Map(columns.map(({ name }, i) => [name, i]));
    this.#offsets = new Int32Array(columns.length * 2);
    this.#options.sink.begin(columns.map((column) => ({ ...column, kind: bson })));
  }

  #values(reply: Buffer, { start, end, type }: Element): boolean {
    this.#offsets[0] = isNull(type) ? -1 : start;
    this.#offsets[1] = end;
    const { sink } = this.#options;
    sink.row(reply, this.#offsets);
    return !sink.truncated;
  }

  #document(reply: Buffer, { at, end }: Element): boolean {
    const { sink, rowBytesMax, command } = this.#options;
    if (end - at > rowBytesMax) throw new RowTooLarge(rowBytesMax);
    if (this.#columns === undefined)
      this.#begin(
        sink.takesDocuments ? fieldsOf(reply, at) : (namedFields(command) ?? allFieldsOf(reply, at)),
      );
    if (sink.takesDocuments) sink.document(reply, at);
    else sink.row(reply, this.#find(reply, at));
    return !sink.truncated;
  }

  /** Finds the columns in a document. Throws if a field has no column, because the field would be lost. */
  #find(reply: Buffer, at: number): Int32Array {
    const offsets = this.#offsets.fill(-1);
    let seen = 0;
    eachElement(reply, at, (element) => {
      // A field can be repeated.
      if (++seen > elementsMax) throw tooManyElements();
      const name = nameOf(reply, element);
      const column = this.#columns?.get(name);
      if (column === undefined) throw noColumn();
      if (isNull(element.type)) return true;
      offsets[2 * column] = element.start;
      offsets[2 * column + 1] = element.end;
      return true;
    });
    return offsets;
  }
}

type Field = Omit<SinkColumn, 'kind'>;

const bson: ColumnKind = { is: 'bson' };

const isNull = (type: number) => type === types.null || type === types.undefined;

/** The first fields of a document. */
function fieldsOf(reply: Buffer, at: number): Field[] {
  const fields: Field[] = [];
  eachElement(reply, at, (element) => {
    fields.push({ name: nameOf(reply, element), type: typeNames[element.type] ?? '' });
    return fields.length < fieldsMax;
  });
  return fields;
}

/** Throws if there may be more. */
function allFieldsOf(reply: Buffer, at: number): Field[] {
  const fields = fieldsOf(reply, at);
  if (fields.length >= fieldsMax) throw tooManyFields();
  return fields;
}

/**
 * Returns the fields that a projection, or the last stage of a pipeline, includes; undefined if there may be others.
 */
function namedFields({ projection, pipeline }: Document): Field[] | undefined {
  const last = Array.isArray(pipeline) ? pipeline.at(-1) : undefined;
  if (last?.$group !== undefined) return toFields(Object.keys(last.$group));
  const fields: Document | undefined = projection ?? last?.$project;
  if (fields === undefined) return undefined;
  const entries = Object.entries(fields);
  if (!entries.some(([name, value]) => name !== '_id' && !leavesOut(value))) return undefined;
  const named = entries
    .filter(([, value]) => !leavesOut(value))
    .map(([name]) => name.split('.', 1)[0] as string);
  return toFields(Object.hasOwn(fields, '_id') ? named : ['_id', ...named]);
}

const toFields = (names: string[]): Field[] => [...new Set(names)].map((name) => ({ name, type: '' }));

/** True for the numbers and truth values of a projection. Other values compute a field. */
const isFlag = (value: unknown): boolean =>
  typeof value === 'boolean' ||
  typeof value === 'number' ||
  ['Int32', 'Long', 'Double', 'Decimal128'].includes((value as Document | null)?._bsontype);

/** Also of a field within, such as in `{"address": {"zip": 0}}`, which leaves all others in. */
const leavesOut = (value: unknown): boolean =>
  isFlag(value) ? Number(value) === 0 : isPlain(value) && Object.values(value).some(leavesOut);

/** True for fields within a field. Expressions have operators. */
const isPlain = (value: unknown): value is Document =>
  typeof value === 'object' &&
  !Array.isArray(value) &&
  value !== null &&
  !('_bsontype' in value) &&
  !Object.keys(value).some((name) => name.startsWith('$'));

const count: ColumnKind = { is: 'integer', bits: 64, isUnsigned: false, bytes: 'little-endian' };

/** Returns the fields of a command's result; undefined if it may have any fields. Documents can lack a field. */
export function describedFields(command: Document): DescribedColumn[] | undefined {
  const [name] = Object.keys(command);
  if (name === 'count') return [{ name, type: 'int', nullable: true, kind: count }];
  // An operator in the projection of a find, such as $slice, can keep all other fields.
  const isOpen = Object.values(command.projection ?? {}).some((value) => !isFlag(value));
  const fields = name === 'distinct' ? [{ name: 'value' }] : isOpen ? undefined : namedFields(command);
  return fields?.map((field) => ({ name: field.name, type: 'unknown', nullable: true, kind: bson }));
}

function noColumn(): HubError {
  return new HubError(
    'SQL_REJECTED',
    'A document of the result has a field without a CSV column. Name the fields in the projection or in a last $project, or request JSON.',
    { retryable: false },
  );
}

function tooManyFields(): HubError {
  return new HubError(
    'SQL_REJECTED',
    `The first document of the result has ${fieldsMax} fields or more. Name the fields in the projection or in a last $project, or request JSON.`,
    { retryable: false },
  );
}
