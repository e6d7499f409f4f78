/** The adapters of all formats. */

import { createArrow } from './arrow.ts';
import { createCsv } from './csv.ts';
import type { Formats } from './format.ts';
import { createJson } from './json.ts';
import { createNdjson } from './ndjson.ts';
import { createXlsx } from './xlsx.ts';

export const createFormats = (): Formats => ({
  json: createJson(),
  ndjson: createNdjson(),
  csv: createCsv(),
  arrow: createArrow(),
  xlsx: createXlsx(),
});
