/** The tables of the source's database that its user may see. */

import type { Outcome, RunOptions, Schema, Statement } from '../../engine.ts';
import { createResponseWriter } from '../../result/response-writer.ts';
import type { RowSink } from '../../row-sink.ts';
import { schemaColumnsMax, toSchema } from '../shared/schema-tables.ts';
import { brokenError } from './errors.ts';

const text = `
  SELECT c.TABLE_SCHEMA, c.TABLE_NAME, t.TABLE_TYPE LIKE '%VIEW%', c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE = 'YES'
  FROM information_schema.COLUMNS c
  JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
  WHERE c.TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
    AND (DATABASE() IS NULL OR c.TABLE_SCHEMA = DATABASE())
  ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION
  LIMIT ${schemaColumnsMax + 1}`;

const timeoutMs = 30_000;
/** Far more than the selected columns need. */
const schemaBytesMax = 33_554_432;

interface Runner {
  run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome>;
}

export async function readSchema(connection: Runner): Promise<Schema> {
  const chunks: Buffer[] = [];
  let bytesLeft = schemaBytesMax;
  const reply = {
    chunk: (bytes: Buffer) => {
      bytesLeft -= bytes.length;
      if (bytesLeft >= 0) chunks.push(bytes);
      return true;
    },
    onDrain: () => {},
  };
  const answer = createResponseWriter({ format: 'json', numbers: 'auto', meta: false, reply });
  const statement: Statement = { key: 'hub schema', text, params: [], kind: 'read' };
  const outcome = await connection.run(statement, answer, { statementTimeoutMs: timeoutMs });
  answer.finish(outcome, { queueMs: 0, durationMs: 0 });
  if (bytesLeft < 0) throw brokenError(new RangeError('The response to a query of the hub is too long.'));
  const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: Record<string, unknown>[] };
  return toSchema(
    data.map((row) => {
      const [schema, name, isView, column, type, nullable] = Object.values(row);
      return {
        schema: String(schema),
        name: String(name),
        kind: isView === 1 ? 'view' : 'table',
        column: { name: String(column), type: String(type), nullable: nullable === 1 },
      };
    }),
  );
}
