/** The schema of problem documents. */

import { sqlConditions } from '@datahub/service-kit/call/error';
import { text } from '../../http/json-schema.ts';
import { kinds } from '../../http/problem-details.ts';

export const problem = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: text,
    title: text,
    status: { type: 'integer' },
    detail: text,
    instance: text,
    code: { type: 'string', enum: Object.keys(kinds) },
    requestId: text,
    errors: { type: 'array', items: { type: 'object', properties: { pointer: text, detail: text } } },
    stage: { type: 'string', enum: ['queue', 'connect', 'prepare', 'execute', 'stream'] },
    retryable: { type: 'boolean' },
    sql: {
      type: 'object',
      properties: {
        state: text,
        line: { type: 'integer' },
        column: { type: 'integer' },
        condition: { type: 'string', enum: sqlConditions },
        ...{ constraint: text, schema: text, table: text, columnName: text, dataType: text },
        ...{ message: text, hint: text },
      },
    },
    version: { type: 'integer' },
    step: { type: 'integer' },
    line: { type: 'integer' },
    committedLines: { type: 'integer' },
  },
};
