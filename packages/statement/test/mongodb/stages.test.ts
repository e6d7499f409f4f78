import { describe, expect, it } from 'vitest';
import { compileCommand } from '../../src/mongodb/command.ts';
import { aggregate, bind, literal, run, text, update } from '../command-fixture.ts';

const stageOf = (stage: object) => (run(aggregate(stage)).pipeline as object[])[0];

const rejected = (message: string) =>
  expect.objectContaining({ code: 'SQL_REJECTED', message, stage: 'prepare', retryable: false });
const noPlace = (pointer: string) =>
  rejected(`${pointer} is the variable :x, but only a constant can stand here.`);
const onlyTheQuery = (pointer: string) =>
  rejected(`${pointer} is the variable :x, but must be a constant of the query.`);

const expressionStages = [
  '$project',
  '$addFields',
  '$set',
  '$group',
  '$replaceRoot',
  '$replaceWith',
  '$bucket',
  '$sortByCount',
  '$redact',
  '$fill',
  '$documents',
];

describe('a stage', () => {
  it.each(expressionStages)('%s takes values, as literals, and no more of the caller', (name) => {
    const stage = { [name]: { a: ':x', b: { $concat: ['$own', ':x'] }, c: { $literal: ':x' } } };
    const written = { [name]: { a: literal, b: { $concat: ['$own', literal] }, c: literal } };
    expect(stageOf(stage)).toEqual(written);
    expect(() => stageOf({ [name]: ':x' })).toThrow(noPlace(`/pipeline/0/${name}`));
  });

  it('a value of a type of the command stays a value, also a number in a projection', () => {
    const typed = { a: { $numberInt: ':n' }, b: { $ifNull: ['$b', { $numberLong: ':n' }] } };
    const written = {
      a: { $literal: { $numberInt: '3' } },
      b: { $ifNull: ['$b', { $literal: { $numberLong: '3' } }] },
    };
    expect(stageOf({ $project: typed })).toEqual({ $project: written });
    expect(run({ find: 'o', projection: typed }).projection).toEqual(written);
    expect(run(update([{ $set: typed }])).updates).toEqual([{ q: {}, u: [{ $set: written }] }]);
  });

  it('a place that some versions of MongoDB evaluate takes no path', () => {
    const near = (x: unknown) => aggregate({ $geoNear: { near: x, distanceField: 'd' } });
    const inner = (x: unknown) => ({ type: 'Point', coordinates: [x, { $numberDouble: ':n' }] });
    expect(stageOf({ $geoNear: { near: inner(':n') } })).toEqual({
      $geoNear: { near: { type: 'Point', coordinates: [3, { $numberDouble: '3' }] } },
    });
    const refused = expect.objectContaining({ code: 'CONTEXT_INVALID' });
    for (const command of [near(':x'), near(inner(':x')), near([1, ':x'])])
      expect(() => run(command)).toThrow(refused);
    const point = { type: 'Point', coordinates: ['$$other', 2] };
    expect(() => bind(near(':p'), { p: point })).toThrow(refused);
    const maxDistance = aggregate({ $geoNear: { near: [1, 2], maxDistance: ':x' } });
    expect(() => run(maxDistance)).toThrow(refused);
  });

  it('a sort keeps the order of its fields, or is refused', () => {
    const ordered = { '2023': 1, '2024': -1, name: 1 };
    const compile = (sort: string) => () =>
      compileCommand(`{"find": "o", "filter": {"b": 1, "7": 2}, "sort": ${sort}}`, {
        command: 'SELECT',
        variables: [],
      });
    expect(compile(JSON.stringify(ordered))).not.toThrow();
    expect(compile('{"2024": -1}')).not.toThrow();
    for (const sort of ['{"2024": -1, "2023": 1}', '{"name": 1, "2024": -1}'])
      expect(compile(sort)).toThrow('puts names that are whole numbers in front');
    const stage = '{"aggregate": "o", "pipeline": [{"$sort": {"a": 1, "0": 1}}]}';
    expect(() => compileCommand(stage, { command: 'SELECT', variables: [] })).toThrow('/pipeline/0/$sort/0 ');
  });

  it('an argument of an operator that is no expression is no literal', () => {
    const output = (x: unknown, n: unknown) => ({
      a: { $shift: { output: '$a', by: n, default: x } },
      b: { $expMovingAvg: { input: '$a', N: n } },
      c: { $topN: { n, sortBy: { a: -1 }, output: ['$a', x] } },
    });
    const written = output(literal, 3);
    Object.assign(written.c.$topN, { n: { $literal: 3 } });
    expect(stageOf({ $setWindowFields: { output: output(':x', ':n') } })).toEqual({
      $setWindowFields: { output: written },
    });
    const sorted = (n: unknown) => ({ $set: { a: { $sortArray: { input: '$a', sortBy: { b: n } } } } });
    expect(stageOf(sorted(':n'))).toEqual(sorted(3));
  });

  it('numbers and dates are no literals where MongoDB takes no expression', () => {
    const auto = (x: unknown, n: unknown) => ({
      $bucketAuto: { groupBy: { $concat: ['$a', x] }, buckets: n, output: { b: { $sum: x } } },
    });
    expect(stageOf(auto(':x', ':n'))).toEqual(auto(literal, 3));
    const dense = (n: unknown) => ({ $densify: { field: 'a', range: { step: n, bounds: [0, n] } } });
    expect(stageOf(dense(':n'))).toEqual(dense(3));
    const windows = (x: unknown) => ({
      $setWindowFields: {
        partitionBy: { $concat: ['$a', x] },
        sortBy: { a: 1 },
        output: { b: { $sum: x, window: { documents: ['unbounded', 'current'] } } },
      },
    });
    expect(stageOf(windows(':x'))).toEqual(windows(literal));
  });

  it.each<[object, string]>([
    [{ $bucketAuto: { groupBy: '$a', buckets: 2, granularity: ':x' } }, '$bucketAuto/granularity'],
    [{ $densify: { field: ':x' } }, '$densify/field'],
    [{ $densify: { field: 'a', range: { step: 1, bounds: ':x' } } }, '$densify/range/bounds'],
    [
      { $setWindowFields: { output: { b: { $sum: '$a', window: { documents: [':x', 0] } } } } },
      '$setWindowFields/output/b/window/documents/0',
    ],
    [{ $project: { a: { $slice: ':x' } } }, '$project/a/$slice'],
  ])('keywords, and a number that a text would make an expression, are of the query: %j', (stage, at) => {
    expect(() => stageOf(stage)).toThrow(onlyTheQuery(`/pipeline/0/${at}`));
  });

  it.each(['$sort', '$sample'])('%s takes values, and no more', (name) => {
    expect(stageOf({ [name]: { a: ':x', b: [':n'] } })).toEqual({ [name]: { a: text, b: [3] } });
    expect(() => stageOf({ [name]: ':x' })).toThrow(noPlace(`/pipeline/0/${name}`));
  });

  it.each(['$getField', '$setField', '$unsetField'])('%s takes no name of the caller', (name) => {
    const stage = (given: unknown) => ({ $addFields: { a: { [name]: given } } });
    const known = { field: 'b', input: ':x', value: ':x' };
    expect(stageOf(stage(known))).toEqual(stage({ field: 'b', input: literal, value: literal }));
    const at = `/pipeline/0/$addFields/a/${name}`;
    expect(() => stageOf(stage(':x'))).toThrow(onlyTheQuery(at));
    expect(() => stageOf(stage({ ...known, field: ':x' }))).toThrow(onlyTheQuery(`${at}/field`));
    expect(() => stageOf(stage({ $literal: ':x' }))).toThrow(onlyTheQuery(`${at}/$literal`));
    expect(() => stageOf(stage({ field: { $concat: ['a', ':x'] } }))).toThrow(
      onlyTheQuery(`${at}/field/$concat/1`),
    );
  });

  describe.each(['$search', '$searchMeta'])('%s', (name) => {
    it.each([
      [{ text: { path: 'title', query: ':x' } }, { text: { path: 'title', query: text } }],
      [
        { compound: { filter: [{ equals: { path: 'a', value: ':n' } }] } },
        { compound: { filter: [{ equals: { path: 'a', value: 3 } }] } },
      ],
      [
        { range: { path: 'a', gte: ':n' }, count: { type: 'total', threshold: ':n' } },
        { range: { path: 'a', gte: 3 }, count: { type: 'total', threshold: 3 } },
      ],
      [
        { facet: { operator: { exists: { path: 'a' } }, facets: { value: { type: 'string', path: 'b' } } } },
        { facet: { operator: { exists: { path: 'a' } }, facets: { value: { type: 'string', path: 'b' } } } },
      ],
    ])('takes what is looked for: %j', (written, run) => {
      expect(stageOf({ [name]: written })).toEqual({ [name]: run });
    });

    it.each([
      [':x', ''],
      [{ index: ':x', text: { path: 'a', query: 'b' } }, '/index'],
      [{ text: ':x' }, '/text'],
      [{ compound: { should: ':x' } }, '/compound/should'],
      [{ compound: { filter: [{ equals: { path: 'a', value: 'b' } }, ':x'] } }, '/compound/filter/1'],
      [{ facet: { facets: { value: ':x' } } }, '/facet/facets/value'],
    ])('takes no clause, operator or name of the caller: %j', (written, pointer) => {
      expect(() => stageOf({ [name]: written })).toThrow(noPlace(`/pipeline/0/${name}${pointer}`));
    });

    it.each([
      [{ text: { path: ':x', query: 'b' } }, '/text/path'],
      [{ text: { path: { value: ':x' }, query: 'b' } }, '/text/path/value'],
      [{ queryString: { defaultPath: 'a', query: ':x' } }, '/queryString/query'],
    ])('takes no field of the caller: %j', (written, pointer) => {
      expect(() => stageOf({ [name]: written })).toThrow(onlyTheQuery(`/pipeline/0/${name}${pointer}`));
    });
  });

  it.each(['$limit', '$skip'])('%s takes a number of the caller', (name) => {
    expect(stageOf({ [name]: ':n' })).toEqual({ [name]: 3 });
  });

  it.each(['$count', '$unwind', '$unset'])('%s is what the query says', (name) => {
    for (const said of ['$a', ['a', 'b'], { path: '$a', preserveNullAndEmptyArrays: true }]) {
      expect(stageOf({ [name]: said })).toEqual({ [name]: said });
    }
    expect(() => stageOf({ [name]: ':x' })).toThrow(onlyTheQuery(`/pipeline/0/${name}`));
    expect(() => stageOf({ [name]: { path: ':x' } })).toThrow(onlyTheQuery(`/pipeline/0/${name}/path`));
    expect(() => stageOf({ [name]: ['a', '{{x}}'] })).toThrow(onlyTheQuery(`/pipeline/0/${name}/1`));
  });

  it.each<[object, object]>([
    [{ $match: { a: ':x', $expr: { $eq: ['$a', ':x'] } } }, { a: text, $expr: { $eq: ['$a', literal] } }],
    [
      { $facet: { one: [{ $match: { a: ':x' } }], two: [{ $set: { a: ':x' } }, { $limit: ':n' }] } },
      { one: [{ $match: { a: text } }], two: [{ $set: { a: literal } }, { $limit: 3 }] },
    ],
    [
      { $lookup: { from: 'c', let: { v: ':x' }, pipeline: [{ $match: { a: ':x' } }], as: 'r' } },
      { from: 'c', let: { v: literal }, pipeline: [{ $match: { a: text } }], as: 'r' },
    ],
    [
      { $lookup: { from: 'c', localField: 'a', foreignField: 'b', as: 'r' } },
      { from: 'c', localField: 'a', foreignField: 'b', as: 'r' },
    ],
    [
      { $unionWith: { coll: 'c', pipeline: [{ $set: { a: ':x' } }] } },
      { coll: 'c', pipeline: [{ $set: { a: literal } }] },
    ],
    [
      {
        $graphLookup: {
          from: 'c',
          startWith: ':x',
          connectFromField: 'a',
          connectToField: 'b',
          as: 'r',
          maxDepth: ':n',
          restrictSearchWithMatch: { a: ':x' },
        },
      },
      {
        from: 'c',
        startWith: literal,
        connectFromField: 'a',
        connectToField: 'b',
        as: 'r',
        maxDepth: 3,
        restrictSearchWithMatch: { a: text },
      },
    ],
    [
      {
        $geoNear: {
          near: { type: 'Point', coordinates: [':n', ':n'] },
          query: { a: ':x' },
          minDistance: ':n',
          maxDistance: ':n',
          distanceMultiplier: ':n',
          distanceField: 'd',
        },
      },
      {
        near: { type: 'Point', coordinates: [3, 3] },
        query: { a: text },
        minDistance: 3,
        maxDistance: 3,
        distanceMultiplier: 3,
        distanceField: 'd',
      },
    ],
    [
      {
        $vectorSearch: {
          index: 'v',
          path: 'p',
          filter: { a: ':x' },
          queryVector: [':n', 1.5],
          limit: ':n',
          numCandidates: ':n',
        },
      },
      { index: 'v', path: 'p', filter: { a: text }, queryVector: [3, 1.5], limit: 3, numCandidates: 3 },
    ],
  ])('of parts takes values where values stand: %j', (stage, written) => {
    expect(stageOf(stage)).toEqual({ [Object.keys(stage)[0] as string]: written });
  });

  it.each<[string, string]>([
    ['$lookup', 'from'],
    ['$lookup', 'localField'],
    ['$lookup', 'foreignField'],
    ['$lookup', 'as'],
    ['$unionWith', 'coll'],
    ['$graphLookup', 'from'],
    ['$graphLookup', 'connectToField'],
    ['$graphLookup', 'toString'],
    ['$geoNear', 'distanceField'],
    ['$geoNear', 'key'],
    ['$vectorSearch', 'index'],
    ['$vectorSearch', 'path'],
  ])('%s has its %s from the query alone', (name, part) => {
    expect(() => stageOf({ [name]: { [part]: ':x' } })).toThrow(onlyTheQuery(`/pipeline/0/${name}/${part}`));
    expect(() => stageOf({ [name]: ':x' })).toThrow(onlyTheQuery(`/pipeline/0/${name}`));
  });

  it('may be the name of a collection to unite with', () => {
    expect(stageOf({ $unionWith: 'c' })).toEqual({ $unionWith: 'c' });
  });

  it.each<[unknown, string]>([
    [{ $facet: ':x' }, '/pipeline/0/$facet must be an object (pipelines), and cannot be a variable.'],
    [{ $facet: { a: ':x' } }, '/pipeline/0/$facet/a must be a list of stages, and cannot be a variable.'],
    [
      { $lookup: { pipeline: ':x' } },
      '/pipeline/0/$lookup/pipeline must be a list of stages, and cannot be a variable.',
    ],
    [{ $match: ':x' }, '/pipeline/0/$match must be an object (a filter), and cannot be a variable.'],
    [
      { $geoNear: { query: ':x' } },
      '/pipeline/0/$geoNear/query must be an object (a filter), and cannot be a variable.',
    ],
    [':x', '/pipeline/0 must be an object (a stage), and cannot be a variable.'],
    [[], '/pipeline/0 must be an object (a stage), and cannot be a variable.'],
    [null, '/pipeline/0 must be an object (a stage), and cannot be a variable.'],
    [5, '/pipeline/0 must be an object (a stage), and cannot be a variable.'],
    [{}, '/pipeline/0 must have exactly one member, the name of the stage.'],
    [{ '': {} }, '/pipeline/0 must have exactly one member, the name of the stage.'],
    [{ $limit: 1, $skip: 1 }, '/pipeline/0 must have exactly one member, the name of the stage.'],
  ])('of another shape is refused: %j', (stage, message) => {
    expect(() => stageOf(stage as object)).toThrow(rejected(message));
  });
});

/** Every place of a pipeline, and where the stage stands in it. */
const pipelines: [string, (stage: object) => object][] = [
  ['/pipeline/0', (stage) => aggregate(stage)],
  ['/pipeline/1', (stage) => aggregate({ $match: {} }, stage)],
  ['/pipeline/0/$facet/a/0', (stage) => aggregate({ $facet: { a: [stage] } })],
  ['/pipeline/0/$lookup/pipeline/0', (stage) => aggregate({ $lookup: { from: 'c', pipeline: [stage] } })],
  ['/pipeline/0/$unionWith/pipeline/0', (stage) => aggregate({ $unionWith: { pipeline: [stage] } })],
  [
    '/pipeline/0/$facet/a/0/$lookup/pipeline/0/$unionWith/pipeline/0',
    (stage) =>
      aggregate({ $facet: { a: [{ $lookup: { pipeline: [{ $unionWith: { pipeline: [stage] } }] } }] } }),
  ],
  ['/updates/0/u/0', (stage) => update([stage])],
];

describe.each(pipelines)('at %s', (pointer, command) => {
  it.each(['$out', '$merge'])('%s is refused, which writes', (name) => {
    const message = `${pointer}/${name} writes the result of the pipeline; the hub writes with insert, update and delete only.`;
    expect(() => run(command({ [name]: 'c' }))).toThrow(rejected(message));
    expect(() => run(command({ [name]: { into: 'c' } }))).toThrow(rejected(message));
  });

  it.each([
    ...['$changeStream', '$changeStreamSplitLargeEvent', '$collStats', '$currentOp', '$indexStats'],
    ...['$listLocalSessions', '$listSampledQueries', '$listSearchIndexes', '$listSessions', '$mergeCursors'],
    ...[
      '$planCacheStats',
      '$queryStats',
      '$querySettings',
      '$shardedDataDistribution',
      '$listClusterCatalog',
    ],
    ...['$rankFusion', '$scoreFusion', '$score', '$_internalInhibitOptimization', '$listCatalog'],
    ...[
      'match',
      '$Match',
      '$MATCH',
      '$match ',
      ' $match',
      '$$match',
      '$matc',
      '$matchx',
      '$',
      '$OUT',
      '$Out',
    ],
    ...['$out ', '$where', 'toString', '__proto__', 'constructor'],
  ])('%j is no stage', (name) => {
    const stage = JSON.parse(`{${JSON.stringify(name)}: {}}`);
    const message =
      name === '$where'
        ? `${pointer}/$where runs code at the server, which the hub does not allow.`
        : `${pointer}/${name} is not a stage that the hub runs.`;
    expect(() => run(command(stage))).toThrow(rejected(message));
  });
});
