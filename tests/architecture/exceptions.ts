/**
 * The exceptions to the rules of tests/architecture/rules.test.ts, with their reasons. A function is named `path#name`.
 * An entry that no code needs fails the test.
 */

export type Rule =
  | 'fileLength'
  | 'folderSize'
  | 'functionLength'
  | 'parameters'
  | 'moduleState'
  | 'importCircle';

export const exceptions: Record<Rule, Record<string, string>> = {
  fileLength: {},
  folderSize: {},
  functionLength: {
    'services/catalog/src/rpc/hubs.ts#createHubCalls': 'A table of RPCs, one short method each.',
    'services/catalog/src/rpc/keys.ts#createKeyCalls': 'A table of RPCs, one short method each.',
    'services/catalog/src/rpc/queries.ts#createQueryCalls': 'A table of RPCs, one short method each.',
    'services/executor/test/fakes/pipeline.ts#setupExecute':
      'One fake of the pipeline, written as one object.',
    'services/executor/test/hostile/rogue-mysql.ts#mysqlPlays': 'A list of attacks, one entry each.',
    'packages/document-store/test/conformance/companions.ts#describeCompanions':
      'A list of tests, as in a test file.',
    'services/catalog/test/watches/watch-cases.ts#anonymous': 'A list of tests, as in a test file.',
    'services/catalog/test/watches/watch-cases.ts#describeWatches': 'A list of tests, as in a test file.',
    'packages/document-store/test/conformance/reads.ts#describeReads': 'A list of tests, as in a test file.',
    'packages/document-store/test/conformance/writes.ts#describeWrites':
      'A list of tests, as in a test file.',
  },
  parameters: {
    'services/executor/test/cases/value-case.ts#row':
      'One row of a table of values, with one argument per cell.',
    'packages/edge/src/edge.ts#anonymous': 'Express recognizes an error handler by its four parameters.',
    'services/gateway/src/response/compression.ts#onSend': 'Fastify gives an onSend hook four arguments.',
    'services/gateway/src/app.ts#anonymous': 'Fastify gives a preSerialization hook four arguments.',
  },
  moduleState: {
    'packages/executor-session/src/codec.ts#decodedPrincipals':
      'An adapter of the wire format: a cache by content.',
    'packages/executor-session/src/codec.ts#encodedPrincipals':
      'An adapter of the wire format: a cache by content.',
    'packages/executor-session/src/codec.ts#sharedWriter':
      'An adapter of the wire format: a buffer that is reused.',
    'packages/service-kit/src/call/call.ts#used': 'Random bytes are drawn in bulk for the whole process.',
    'packages/service-kit/src/heap.ts#collect': 'V8 has one heap for the whole process.',
    'packages/service-kit/src/heap.ts#noted': 'V8 has one heap for the whole process.',
    'packages/service-kit/src/heap.ts#taken': 'V8 has one heap for the whole process.',
    'packages/service-kit/src/process/ticks.ts#kept': 'V8 has one heap for the whole process.',
  },
  importCircle: {},
};
