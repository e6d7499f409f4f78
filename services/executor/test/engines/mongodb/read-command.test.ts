import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { longestTurn } from '../../../../../tests/support/timing/longest-turn.ts';
import { readCommand } from '../../../src/engines/mongodb/read-command.ts';

const bytes = async (text: string) => Buffer.from(BSON.serialize(await readCommand(text))).toString('hex');
/** As the parser of the library reads it. */
const known = (text: string) =>
  Buffer.from(BSON.serialize(BSON.EJSON.parse(text, { relaxed: false }))).toString('hex');

it.each([
  '{"a":[1,-1,0,-0,1.5,-1.5,1e21,2147483647,2147483648,-2147483648,-2147483649,9007199254740991,1e18,true,null,"x"]}',
  '{"_id":{"$oid":"507f1f77bcf86cd799439011"},"u":{"$uuid":"3b241101-e2bb-4255-8caf-4136c566a962"}}',
  '{"n":[{"$numberInt":"-5"},{"$numberLong":"9223372036854775807"},{"$numberDouble":"-0.0"},{"$numberDouble":"NaN"}]}',
  '{"n":[{"$numberDouble":"-Infinity"},{"$numberDecimal":"1.10"},{"$numberDecimal":"NaN"},{"$numberDouble":"1e308"}]}',
  '{"d":{"$date":{"$numberLong":"-62135596800000"}},"t":{"$timestamp":{"t":4294967295,"i":1}}}',
  '{"b":[{"$binary":{"base64":"AAH/","subType":"80"}},{"$binary":{"base64":"","subType":"00"}}]}',
  '{"k":[{"$minKey":1},{"$maxKey":1},{"$regularExpression":{"pattern":"^a","options":"im"}}]}',
  '{"a":{"b":[[{"c":{"d":[{"$numberLong":"1"}]}}]]},"":{"":1}}',
])('reads %s as the parser of the library does', async (text) => {
  expect(await bytes(text)).toBe(known(text));
});

it('keeps every operator beside $regex', async () => {
  const filter = {
    name: { $regex: '^a', $options: 'i', $ne: 'ab' },
    other: { $not: { $regex: 'b', $nin: ['c'] } },
  };
  expect(await readCommand(JSON.stringify({ find: 'people', filter }))).toEqual({ find: 'people', filter });
});

it('keeps a member of the name __proto__', async () => {
  const read = await readCommand('{"__proto__":{"$numberLong":"5"},"a":{"__proto__":1}}');
  expect(Object.keys(read)).toEqual(['__proto__', 'a']);
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
});

it.each([
  '{"a":{"$binary":{"base64":"%%%=","subType":"00"}}}',
  '{"a":{"$binary":{"base64":null,"subType":"00"}}}',
])('rejects %s', async (text) => {
  await expect(readCommand(text)).rejects.toMatchObject({ code: 'SQL_REJECTED' });
});

it.each([
  ['numbers', '1', 200_000],
  ['decimals', '{"$numberDecimal":"1.10"}', 40_000],
])('lets others run while it reads many %s', async (_, value, count) => {
  const text = `{"find":"a","filter":{"x":[${Array(count).fill(value).join(',')}]}}`;
  expect(await longestTurn(() => readCommand(text))).toBeLessThan(100);
});
