/** The formats of rows as files, and the files that are being read. */

import type { CsvOptions } from '@datahub/contract/formats';
import { signal } from '@preact/signals';
import type { RowStore } from './rows/row-store.ts';

export type DownloadFormat = 'csv' | 'plain csv' | 'spreadsheet' | 'json' | 'ndjson' | 'arrow' | 'xlsx';

export interface DownloadKind {
  format: DownloadFormat;
  name: string;
  accept: string;
  extension: string;
  csv?: CsvOptions;
}

/** Where numbers have a comma, spreadsheets read them only so, and separate fields by semicolons. */
const hasDecimalComma = new Intl.NumberFormat().format(1.5).includes(',');

export const downloads: DownloadKind[] = [
  // Most programs skip a byte order mark; those that do not have a format of their own.
  { format: 'csv', name: 'CSV', accept: 'text/csv', extension: 'csv', csv: { bom: true } },
  { format: 'plain csv', name: 'CSV without a byte order mark', accept: 'text/csv', extension: 'csv' },
  {
    format: 'spreadsheet',
    name: 'CSV for spreadsheets',
    accept: 'text/csv',
    extension: 'csv',
    csv: { bom: true, ...(hasDecimalComma ? { delimiter: ';', decimal: ',' } : { delimiter: ',' }) },
  },
  {
    format: 'xlsx',
    name: 'XLSX',
    accept: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    extension: 'xlsx',
  },
  { format: 'json', name: 'JSON', accept: 'application/json', extension: 'json' },
  { format: 'ndjson', name: 'NDJSON', accept: 'application/x-ndjson', extension: 'ndjson' },
  { format: 'arrow', name: 'Arrow', accept: 'application/vnd.apache.arrow.stream', extension: 'arrows' },
];

export const kindOf = (format: DownloadFormat): DownloadKind =>
  downloads.find((one) => one.format === format) as DownloadKind;

export const fileName = (label: string): string =>
  label.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 100) || 'data';

export function saveBlob(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** A file that is being read. */
export interface Download {
  name: string;
  bytes: number;
  cancel(): void;
}

export const running = signal<Download[]>([]);

/** The rows that are shown: what a write returned must not be asked for again. */
export const saveShown = (store: RowStore, label: string): void =>
  saveBlob(
    new Blob([store.lines.join('\n'), '\n'], { type: 'application/x-ndjson' }),
    `${fileName(label)}.ndjson`,
  );
