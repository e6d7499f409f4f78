/** What routes answer with 200, as JSON Schemas for the documentation; tests hold every answer they get against them. */

import { engine } from './request-schemas.ts';

type Schema = Record<string, unknown>;

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const count = { type: 'integer', minimum: 0 };
const share = { type: 'number', minimum: 0, maximum: 1 };
const time = { type: 'string', format: 'date-time' };
const timeOrNull = { type: ['string', 'null'], format: 'date-time' };
const list = (items: Schema) => ({ type: 'array', items });

/** All members are there but the optional ones, and no others. */
function answer(properties: Record<string, Schema>, optional: string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', additionalProperties: false, properties, required };
}

export const nothing = answer({});

export const hub = answer({
  hubId: text,
  label: text,
  archived: { type: 'integer', enum: [0, 1] },
  createdAt: time,
  updatedAt: timeOrNull,
});
export const hubs = list(hub);

export const node = answer(
  {
    hubId: text,
    nodeId: text,
    parentNodeId: textOrNull,
    nodeType: { type: 'string', enum: ['root', 'category', 'folder', 'source', 'query'] },
    nodeSubType: { type: 'string', enum: ['queries', 'sources'] },
    label: text,
    children: list({ $ref: '#/components/schemas/Node' }),
    truncated: { const: true },
  },
  ['nodeSubType', 'truncated'],
);

export const folder = answer({
  hubId: text,
  nodeId: text,
  parentNodeId: text,
  nodeType: { const: 'folder' },
  nodeSubType: text,
  label: text,
});

const tls = answer({ mode: text, ca: text, cert: text, key: text }, ['ca', 'cert', 'key']);
const pool = answer({ max: count, idleTimeoutMs: count }, ['max', 'idleTimeoutMs']);
const connectionSettings = answer(
  {
    host: text,
    port: count,
    database: text,
    user: { ...text, description: 'A mask.' },
    password: { ...text, description: 'A mask.' },
    tls,
    pool,
    statementTimeoutMs: count,
    authSource: text,
    hosts: list(answer({ host: text, port: count })),
    srv: { type: 'boolean' },
    replicaSet: text,
    readPreference: text,
    authMechanism: text,
  },
  [
    'tls',
    'pool',
    'statementTimeoutMs',
    'authSource',
    'hosts',
    'srv',
    'replicaSet',
    'readPreference',
    'authMechanism',
  ],
);

export const createdSource = answer({
  hubId: text,
  label: text,
  engine,
  sourceId: text,
  nodeId: text,
  nodeType: { const: 'source' },
  parentNodeId: text,
});
const sourceMembers = {
  sourceId: text,
  hubId: text,
  label: text,
  engine,
  connectionSettings,
  createdAt: time,
  updatedAt: timeOrNull,
};
export const source = answer({ ...sourceMembers, nodeType: { const: 'source' } });
export const sources = list(answer({ ...sourceMembers, accountId: text, driver: { type: 'null' } }));
export const sourceTest = answer({ ok: { const: true }, latencyMs: { type: 'number' }, serverVersion: text });

const column = answer({ name: text, type: text, nullable: { type: 'boolean' } }, ['nullable']);
const table = answer({ schema: text, name: text, kind: text, columns: list(column) });
export const sourceSchema = answer({ tables: list(table), truncated: { const: true } }, ['truncated']);

const variable = answer(
  {
    key: text,
    value: {},
    type: text,
    required: { type: 'boolean' },
    enum: { type: 'array' },
    description: text,
  },
  ['value', 'type', 'required', 'enum', 'description'],
);
const sql = answer({ state: text, line: count, column: count }, ['state', 'line', 'column']);
const signature = {
  ...answer(
    {
      columns: list(column),
      variables: list(answer({ key: text, type: text }, ['type'])),
      problem: answer({ code: text, detail: text, sql }, ['sql']),
    },
    ['problem'],
  ),
  type: ['object', 'null'],
};
const queryOf = (context: Schema, more: Record<string, Schema> = {}) =>
  answer(
    {
      meta: answer({ engine, hubId: text, label: text, parentNodeId: text }),
      config: answer({
        command: text,
        context,
        query: answer({ queryId: text, query: text }),
        source: answer({ sourceId: text, engine }),
      }),
      ...more,
    },
    Object.keys(more),
  );
export const createdQuery = queryOf({ type: 'null' });
export const query = queryOf(list(variable), { signature });
export const queries = list(queryOf(list(variable)));

/** Of `application/json`; the other formats hold the rows alone. */
export const execution = answer(
  {
    data: list({ type: 'object' }),
    truncated: { const: true },
    meta: answer({
      columns: list(answer({ name: text, type: text })),
      rowCount: count,
      durationMs: { type: 'number' },
      queueMs: { type: 'number' },
    }),
  },
  ['truncated', 'meta'],
);

export const createdClassifier = answer({ id: text });
const classifierMembers = { classifierId: text, name: text, createdAt: time, updatedAt: timeOrNull };
export const classifiers = list(answer(classifierMembers));
export const classifier = answer({
  ...classifierMembers,
  classes: list(answer({ classId: text, label: text, observations: count })),
});
const learnt = { classId: text, observations: count };
export const training = { oneOf: [answer(learnt), answer({ results: list(answer(learnt)) })] };
const score = answer({ classId: text, label: text, confidence: share });
const prediction = answer({
  classId: text,
  label: text,
  confidence: share,
  scores: list(score),
  otherScore: share,
});
export const predictions = { oneOf: [prediction, answer({ predictions: list(prediction) })] };
export const evaluation = answer({
  examples: count,
  accuracy: { ...share, type: ['number', 'null'] },
  calibrationError: { ...share, type: ['number', 'null'] },
});

export const summary = answer({ generated: text, generator: text });

const limits = answer(
  {
    hubIds: list(text),
    queryIds: list(text),
    origins: list(text),
    context: { type: 'object' },
    ratePerMinute: count,
    maxRows: count,
    strict: { const: true },
  },
  ['hubIds', 'queryIds', 'origins', 'context', 'ratePerMinute', 'maxRows', 'strict'],
);
const keyMembers = {
  keyId: text,
  name: text,
  scopes: list(text),
  limits,
  createdAt: time,
  expiresAt: timeOrNull,
};
const secret = { ...text, description: 'Shown here and never again.' };
export const createdKey = answer({ ...keyMembers, key: secret });
const keyNotes = { lastCharacters: text, lastUsedAt: timeOrNull };
export const keys = list(answer({ ...keyMembers, ...keyNotes }));
export const rotatedKey = answer({ ...keyMembers, ...keyNotes, key: secret, previousExpiresAt: time });

export const audit = list(
  answer({
    entryId: text,
    at: time,
    keyId: text,
    action: text,
    resourceId: text,
    requestId: textOrNull,
    count,
    failed: count,
  }),
);
