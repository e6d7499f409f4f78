/** Reads the texts of a column of a query's rows into memory, up to the limits of a summary. */

import { Format } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { contextJson } from '../http/json-body.ts';
import { validationError } from '../http/request-error.ts';
import { requireGranted } from '../http/route.ts';
import type { Upstreams } from '../upstreams.ts';
import { type Row, RowReader, toText } from './row-reader.ts';
import { executeInto, stoppable } from './stoppable.ts';

const columnRowsMax = 10_000;
const charactersMax = 4_194_304;
const bytesOfCharacter = 2;

export interface ReadColumnOptions {
  queryId: string;
  column: string;
  upstreams: Pick<Upstreams, 'executor'>;
  /** Called with the bytes that the texts take so far. Its error ends the execution. */
  reserve(bytes: number): void;
}

export interface ColumnTexts {
  texts: string[];
  /** A limit of the key or of the hub cut the rows. */
  isTruncated: boolean;
}

/** Returns the texts of the column that are not NULL or blank. Throws VALIDATION if there are none. */
export async function readColumn(
  request: FastifyRequest,
  { queryId, column, upstreams, reserve }: ReadColumnOptions,
): Promise<ColumnTexts> {
  requireGranted(request, 'queries:execute');
  const { ctx, stop } = stoppable(request.context);
  const texts: string[] = [];
  let hasRows = false;
  let isKnown = false;
  let characters = 0;
  const use = async (rows: Row[]) => {
    hasRows ||= rows.length > 0;
    for (const { number, values } of rows) {
      if (typeof values === 'string') throw exceeded(`Row ${number} ${values}.`);
      isKnown ||= values.has(column);
      const text = toText(values.get(column)) ?? '';
      if (!/\S/.test(text)) continue;
      characters += text.length;
      texts.push(text.toWellFormed());
      if (texts.length > columnRowsMax || characters > charactersMax)
        throw exceeded(
          `A summary can have at most ${columnRowsMax} rows with ${charactersMax} characters in total. Select fewer rows.`,
        );
    }
    reserve(bytesOfCharacter * characters);
  };
  const reader = new RowReader({ use, stop });
  const execution = {
    queryId,
    contextJson: contextJson(request, request.body as object),
    options: { dryRun: false, meta: false, numbersAsStrings: false },
    format: Format.FORMAT_NDJSON,
    onlyReads: true,
  };
  await executeInto(reader, { executor: upstreams.executor, execution, ctx });
  if (texts.length > 0) return { texts, isTruncated: reader.isTruncated };
  throw validationError([{ pointer: '/text', detail: faultOf(hasRows, isKnown) }]);
}

function faultOf(hasRows: boolean, isKnown: boolean): string {
  if (!hasRows) return 'has no text, because the query returned no rows';
  return isKnown ? 'is NULL or blank in every row' : 'is not a column of any row';
}

const exceeded = (message: string) => new HubError('LIMIT_EXCEEDED', message);
