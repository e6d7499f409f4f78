import { fieldError } from '@datahub/service-kit/call/error';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import { toProblem } from '../../src/http/problem-details.ts';
import type { FieldPointers } from '../../src/http/request-error.ts';
import { requireItems, texts, toValidationError } from '../../src/http/validation.ts';
import {
  createClassifierHandlers,
  predictPointers,
  trainPointers,
} from '../../src/resources/classifiers/classifiers.ts';
import { contextRule } from '../../src/resources/classifiers/examples.ts';
import { updateQueryPointers } from '../../src/resources/queries/query-schemas.ts';
import { createSummarizeHandler } from '../../src/resources/summarize.ts';

const many = 2_000_000;
/** Some for each fault that is told, whatever the size of the body. */
const readsMax = 1_000;

async function refusalOf(handler: (request: never, reply: never) => Promise<unknown>, body: object) {
  const request = { body, params: { classifierId: 'c' }, context: {} };
  const err = await handler(request as never, {} as never).then(
    () => undefined,
    (err) => err,
  );
  return err && { code: err.code, message: err.message, faults: err.faults.length };
}

const ml = new Proxy({}, { get: () => async () => ({ classes: [], predictions: [], generated: '' }) });

describe('a body with many faults', () => {
  const { train, predict } = createClassifierHandlers({ upstreams: { ml } } as never);
  const summarize = createSummarizeHandler({ upstreams: { ml } } as never);
  let reads = 0;
  const wrong = new Proxy(new Array(many).fill(1), {
    get: (target, name, receiver) => {
      reads++;
      return Reflect.get(target, name, receiver);
    },
  });

  it.each<[string, (request: never, reply: never) => Promise<unknown>, object, string]>([
    ['examples', train, { examples: wrong }, '/examples/0 must be an object; "errors" lists 49 more faults.'],
    [
      'examples without anything',
      train,
      { examples: new Array(many).fill({}) },
      '/examples/0/label is missing; "errors" lists 49 more faults.',
    ],
    [
      'examples with more',
      train,
      { examples: [{ label: 'a', context: 'b', c: 1 }] },
      '/examples/0/c is an unknown property.',
    ],
    [
      'labels too long',
      train,
      { examples: [{ label: 'a'.repeat(1_001), context: 'b' }] },
      '/examples/0/label must have 1 to 200 characters.',
    ],
    [
      'no text to learn',
      train,
      { examples: [{ label: 'a', context: null }] },
      '/examples/0/context must be a string.',
    ],
    [
      'texts to predict',
      predict,
      { contexts: wrong },
      '/contexts/0 must be a string; "errors" lists 49 more faults.',
    ],
    [
      'a blank text to predict among others',
      predict,
      { contexts: ['a', ' \n', 'b', ''] },
      '/contexts/1 must not be blank; "errors" lists 1 more fault.',
    ],
    [
      'documents',
      summarize,
      { context: wrong },
      '/context/0 must be an array or a string; "errors" lists 49 more faults.',
    ],
    [
      'passages',
      summarize,
      { context: [['a'], wrong.slice(0, 100_000)] },
      '/context/1/0 must be a string; "errors" lists 49 more faults.',
    ],
    [
      'very many passages',
      summarize,
      { context: [wrong] },
      '/context/0/0 must be a string; "errors" lists 49 more faults.',
    ],
    [
      'texts and lists',
      summarize,
      { context: ['a', ['b']] },
      '/context must contain only arrays or only strings.',
    ],
    [
      'lists and texts',
      summarize,
      { context: [['a'], 'b'] },
      '/context must contain only arrays or only strings.',
    ],
  ])('is refused with the first faults: %s', async (_name, handler, body, message) => {
    reads = 0;
    const refusal = await refusalOf(handler, body);
    expect(reads).toBeLessThan(readsMax);
    expect(refusal).toMatchObject({ code: 'VALIDATION', message });
    expect(refusal?.faults).toBeLessThanOrEqual(50);
  });

  it('is accepted if it has no faults', async () => {
    const astral = `${' '.repeat(800)}${'😀'.repeat(200)}`;
    expect(await refusalOf(train, { examples: [{ label: astral, context: 'a' }] })).toBeUndefined();
    expect(await refusalOf(predict, { contexts: ['a'] })).toBeUndefined();
    expect(await refusalOf(summarize, { context: [['a'], []] })).toBeUndefined();
    expect(await refusalOf(summarize, { context: ['a'] })).toBeUndefined();
    for (const rule of [texts, contextRule])
      expect(() => requireItems(new Array(100_000).fill('a'), '/x', rule)).not.toThrow();
  });

  it('is refused in bounded time if the validator found a million faults', async () => {
    const finding = {
      instancePath: '/a',
      keyword: 'type',
      message: 'must be a string',
      params: { type: 'string' },
    };
    const findings = Array.from({ length: many }, (_, i) => ({ ...finding, instancePath: `/a/${i}` }));
    expect(toValidationError(findings).faults).toHaveLength(50);
    await expectLinear((count) => toValidationError(findings.slice(0, count)), many);
  });
});

describe('the fields that a service names', () => {
  const problem = (body: object, pointers: (body: unknown) => FieldPointers, path: (string | number)[]) =>
    toProblem(fieldError([{ path, detail: 'is wrong' }]), { path: '/', id: 'r', pointers: pointers(body) });

  it.each([
    [['label'], () => ({}), {}, '/label'],
    [['context', 'a/b~c'], () => ({}), {}, '/context/a~1b~0c'],
    [['context', 0, 'value'], updateQueryPointers, {}, '/config/context/0/value'],
    [['sourceId'], updateQueryPointers, {}, '/config/source/sourceId'],
    [['examples', 0, 'label'], trainPointers, { label: 'x' }, '/label'],
    [['examples', 0, 'label'], trainPointers, { examples: [] }, '/examples/0/label'],
    [['contexts', '0'], predictPointers, { context: 'x' }, '/context'],
    [['contexts', '0'], predictPointers, { contexts: [] }, '/contexts/0'],
    [['top'], predictPointers, {}, '/options/top'],
  ])('become pointers into the body: %j', (path, pointers, body, pointer) => {
    expect(problem(body, pointers, path)).toMatchObject({
      detail: `${pointer} is wrong.`,
      errors: [{ pointer, detail: 'is wrong' }],
    });
  });
});
