/** Rows that are annotated together, with the bytes between them. */

import { type CsvDelimiter, type CsvOptions, type FormatName, formats } from '@datahub/contract/formats';
import { readCharactersMax } from '@datahub/contract/limits';
import type { Annotation } from '@datahub/proto/executor/v1/executor';
import type { ArrowLabels, Label } from './arrow-labels.ts';

interface BatchLabels {
  members: readonly Annotation[];
  labels: Label[][];
  csv: CsvOptions | undefined;
  /** The columns of the batch of Arrow that the rows belong to. */
  arrow: ArrowLabels;
}

/** The most texts that one call can predict with a classifier that has the maximum number of classes. */
const rowsMax = 100;
const charactersMax = 200_000;
/** What a row takes in memory beside its bytes and texts. */
const partBytes = 200;
const brace = 0x7b;

export class AnnotationBatch {
  /** The bytes of each row with one entry per annotation in `texts`. Bytes between rows have no entries. */
  readonly #parts: { bytes: Buffer; texts: (string | null)[] }[] = [];
  #rows = 0;
  #characters = 0;
  /** The approximate size of the rows and texts in memory. */
  bytes = 0;

  get hasRows(): boolean {
    return this.#rows > 0;
  }

  get isFull(): boolean {
    return this.#rows >= rowsMax || this.#characters >= charactersMax;
  }

  add(bytes: Buffer, texts: (string | null)[] = []): void {
    const read = texts.map(readable);
    this.#parts.push({ bytes, texts: read });
    const characters = read.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    this.#characters += characters;
    this.bytes += bytes.length + characters + partBytes;
    if (texts.length > 0) this.#rows++;
  }

  /** The texts of the annotation with this index, without those that are NULL or blank. */
  textsOf(index: number): string[] {
    return this.#parts.flatMap(({ texts }) => texts[index] ?? []);
  }

  /** Returns the rows with their labels. `labels[i]` has the labels of annotation i in the order of `textsOf(i)`. */
  toBytes(format: FormatName, { members, labels, csv, arrow }: BatchLabels): Buffer {
    const delimiter = csv?.delimiter ?? ',';
    const rests = labels.map((each) => each.values());
    const end = formats[format].rowEnd;
    const names = members.map(({ as }) => [JSON.stringify(as), JSON.stringify(`${as}Confidence`)]);
    const written = this.#parts.flatMap(({ bytes, texts }) => {
      const found = texts.map((text, i) => (text === null ? undefined : rests[i]?.next().value));
      if (format === 'arrow') return arrow.add(bytes, texts.length === 0 ? undefined : found);
      if (texts.length === 0) return bytes;
      let added = '';
      for (const [i, one] of found.entries()) {
        const { label, confidence } = one ?? { label: null, confidence: null };
        if (formats[format].rows === 'columns')
          added += `${delimiter}${toField(label, delimiter)}${delimiter}${numberField(confidence, csv)}`;
        else
          added += `,${names[i]?.[0]}:${JSON.stringify(label)},${names[i]?.[1]}:${JSON.stringify(confidence)}`;
      }
      // In an empty object, no comma precedes the first member.
      return [bytes, Buffer.from((bytes.at(-1) === brace ? added.slice(1) : added) + end)];
    });
    return Buffer.concat(written);
  }
}

/** The part of a text that a classifier reads; null if it is blank. */
function readable(text: string | null): string | null {
  if (text === null) return null;
  const read = text.length > readCharactersMax ? text.slice(0, readCharactersMax) : text;
  return /\S/.test(read) ? read.toWellFormed() : null;
}

function numberField(confidence: number | null, { delimiter = ',', decimal = '.' }: CsvOptions = {}): string {
  const text = confidence === null ? '' : String(confidence).replace('.', decimal);
  return text.includes(delimiter) ? `"${text}"` : text;
}

/** A field of CSV (RFC 4180); NULL is an empty field. */
function toField(label: string | null, delimiter: CsvDelimiter): string {
  if (label === null) return '';
  return label === '' || /[",\r\n]/.test(label) || label.includes(delimiter)
    ? `"${label.replaceAll('"', '""')}"`
    : label;
}
