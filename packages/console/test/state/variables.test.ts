import { expect, it } from 'vitest';
import { parseExact } from '../../src/api/exact.ts';
import { fieldsOf, sentOf, type Values, valuesFrom } from '../../src/state/variables.ts';

const described = {
  text: 'SELECT * FROM t WHERE big = :big AND id IN (:ids) AND name = :name AND kind = :kind AND day = :day',
  engine: 'postgres',
  context: [
    { key: 'big', type: 'decimal', required: true },
    { key: 'kind', enum: [1, 2], value: 1 },
    { key: 'day', type: 'date' },
  ],
  signature: { variables: [{ key: 'ids', type: 'bigint', list: false, nullable: true }] },
};
const send = (values: Values) => sentOf(fieldsOf(described), values);

it('sends what is typed as its type, digit by digit', () => {
  const sent = send({
    big: { kind: 'text', text: '12345678901234567890.10' },
    ids: { kind: 'list', items: ['1', '2'] },
    name: { kind: 'text', text: '42' },
    kind: { kind: 'text', text: '2' },
    day: { kind: 'null' },
  });
  expect(sent.faults).toEqual({});
  expect(sent.context).toBe('{"big":12345678901234567890.10,"ids":[1,2],"name":"42","kind":2,"day":null}');
});

it('says what is missing and what does not fit', () => {
  expect(send({ day: { kind: 'text', text: '20.11.2026' } }).faults).toEqual({
    big: 'Give it a value.',
    ids: 'Give it a value.',
    name: 'Give it a value.',
    day: 'Write a date such as 2026-11-20.',
  });
  expect(
    send({ big: { kind: 'text', text: '1' }, ids: { kind: 'list', items: ['x'] } }).faults,
  ).toMatchObject({
    ids: 'Write a whole number.',
  });
});

it('fills in what a run was sent, and sends the same again', () => {
  const sent = '{"big":12345678901234567890.10,"ids":[1,2],"name":"42","kind":2,"day":null}';
  const values = valuesFrom(parseExact(`{"gone":1,${sent.slice(1)}`), fieldsOf(described));
  expect(send(values)).toMatchObject({ faults: {}, context: sent });
});

const untyped = (choices?: unknown[]) =>
  fieldsOf({
    text: 'SELECT * FROM t WHERE zip IN (:zips)',
    engine: 'mysql',
    context: choices === undefined ? [] : [{ key: 'zips', enum: choices as string[] }],
    signature: undefined,
  });

it('sends the items of a list without a type as texts, as a single value is', () => {
  const items = ['01234', '2', '1e3'];
  expect(sentOf(untyped(), { zips: { kind: 'list', items } }).context).toBe('{"zips":["01234","2","1e3"]}');
});

it('sends the choices of a list as they are declared', () => {
  const zips = { kind: 'list' as const, items: ['01234', '7'] };
  expect(sentOf(untyped(['01234', 7]), { zips }).context).toBe('{"zips":["01234",7]}');
});

it.each(['["1234"]', '[1234,12345678901234567890]', '["1",1]', '7', '"7"'])(
  'sends %s of an earlier run again',
  (json) => {
    const values = valuesFrom(parseExact(`{"zips":${json}}`), untyped());
    expect(sentOf(untyped(), values).context).toBe(`{"zips":${json}}`);
  },
);
