/** The query string of `GET /v1/queries/:queryId/data`: values of variables, and options of the execution. */

import { type CsvOptions, csvDecimals, csvDelimiters } from '@datahub/contract/formats';
import { type Numbers, numbersForms } from '@datahub/contract/numbers';
import type { FormValue } from '@datahub/proto/executor/v1/executor';
import type { FastifyRequest } from 'fastify';
import { flagValues } from './query-params.ts';
import { type Fault, validationError } from './request-error.ts';

export interface DataOptions {
  maxRows?: number;
  numbers?: Numbers;
  meta?: boolean;
  ending?: boolean;
  version?: number;
  csv?: CsvOptions;
}

const optionPrefix = 'options.';
const numberMax = 4_294_967_295;

const rules: Record<string, { must: string; read(text: string): DataOptions | undefined }> = {
  'options.maxRows': {
    must: `must be a whole number from 0 to ${numberMax}`,
    read: (text) =>
      /^\d{1,10}$/.test(text) && Number(text) <= numberMax ? { maxRows: Number(text) } : undefined,
  },
  'options.numbers': {
    must: `must be one of ${numbersForms.join(', ')}`,
    read: (text) => {
      const numbers = numbersForms.find((form) => form === text);
      return numbers === undefined ? undefined : { numbers };
    },
  },
  'options.meta': {
    must: 'must be 1 or 0',
    read: (text) => {
      const meta = flagValues.get(text);
      return meta === undefined ? undefined : { meta };
    },
  },
  'options.ending': {
    must: 'must be 1 or 0',
    read: (text) => {
      const ending = flagValues.get(text);
      return ending === undefined ? undefined : { ending };
    },
  },
  'options.csv.bom': {
    must: 'must be 1 or 0',
    read: (text) => {
      const bom = flagValues.get(text);
      return bom === undefined ? undefined : { csv: { bom } };
    },
  },
  'options.csv.delimiter': {
    must: `must be one of ${csvDelimiters.map((one) => encodeURIComponent(one)).join(' ')} in percent-encoding`,
    read: (text) => {
      const delimiter = csvDelimiters.find((one) => one === text);
      return delimiter === undefined ? undefined : { csv: { delimiter } };
    },
  },
  'options.csv.decimal': {
    must: `must be one of ${csvDecimals.map((one) => encodeURIComponent(one)).join(' ')} in percent-encoding`,
    read: (text) => {
      const decimal = csvDecimals.find((one) => one === text);
      return decimal === undefined ? undefined : { csv: { decimal } };
    },
  },
  'options.version': {
    must: `must be a whole number from 1 to ${numberMax}`,
    read: (text) =>
      /^[1-9]\d{0,9}$/.test(text) && Number(text) <= numberMax ? { version: Number(text) } : undefined,
  },
};
export const dataOptions = Object.keys(rules);

/** Options are named `options.…`. Variable names have no dot, so the two never collide. Throws VALIDATION. */
export function readDataQuery({ url }: FastifyRequest): { values: FormValue[]; options: DataOptions } {
  const values: FormValue[] = [];
  const faults: Fault[] = [];
  const seen = new Set<string>();
  let options: DataOptions = {};
  for (const { name, value } of decodeForm(url)) {
    if (!name.startsWith(optionPrefix)) {
      values.push({ name, value });
      continue;
    }
    const option = Object.hasOwn(rules, name) ? rules[name]?.read(value) : undefined;
    const detail = seen.has(name) ? 'must be sent once' : option === undefined ? faultOf(name) : undefined;
    seen.add(name);
    if (detail === undefined) options = withOption(options, option);
    else faults.push({ pointer: `query/${name.slice(0, 100)}`, detail });
  }
  if (faults.length > 0) throw validationError(faults);
  return { values, options };
}

const withOption = (options: DataOptions, option: DataOptions = {}): DataOptions =>
  option.csv === undefined
    ? { ...options, ...option }
    : { ...options, csv: { ...options.csv, ...option.csv } };

const faultOf = (name: string): string =>
  (Object.hasOwn(rules, name) ? rules[name]?.must : undefined) ??
  `is unknown; the options are ${dataOptions.join(', ')}`;

/** Decodes `application/x-www-form-urlencoded`. Refuses malformed UTF-8 instead of replacing it. */
function decodeForm(url: string): FormValue[] {
  const start = url.indexOf('?');
  if (start === -1) return [];
  try {
    return url
      .slice(start + 1)
      .split('&')
      .filter((part) => part !== '')
      .map((part) => {
        const equals = part.indexOf('=');
        if (equals === -1) return { name: decode(part), value: '' };
        return { name: decode(part.slice(0, equals)), value: decode(part.slice(equals + 1)) };
      });
  } catch {
    throw validationError([{ pointer: 'query', detail: 'must be UTF-8 in valid percent-encoding' }]);
  }
}

const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));
