import { expect, it } from 'vitest';
import { JsonSplices, JsonText, writeJson } from '../../src/response/json-splices.ts';

it('writes stored JSON as it was stored', () => {
  const texts = ['1.10', '{"a":[12345678901234567890,"\\u0041"]}', 'null', '"$& $1 \\"x\\""'];
  const value = { a: texts.map((text) => JsonText.of(text)), b: { c: JsonText.of('[]') }, d: 'x' };
  expect(writeJson(value)).toBe(`{"a":[${texts.join(',')}],"b":{"c":[]},"d":"x"}`);
  expect(writeJson(JsonText.of('{}'))).toBe('{}');
  expect(writeJson({ a: 1, b: undefined })).toBe('{"a":1}');
});

it('marks places that no stored text can name', () => {
  const first = new JsonSplices();
  const [mark] = JSON.parse(JSON.stringify([JsonText.of('1')], first.replacer)) as [string];
  const stored = JsonText.of(`["${mark}"]`);
  const second = new JsonSplices();
  expect(second.splice(JSON.stringify([mark, stored], second.replacer)).join('')).toBe(
    JSON.stringify([mark, [mark]]),
  );
});

it('does not parse stored JSON', () => {
  const text = `[${'{},'.repeat(300_000)}1]`;
  const before = process.memoryUsage().heapUsed;
  const written = writeJson({ value: JsonText.of(text) });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(8 * text.length);
  expect(written).toHaveLength(text.length + '{"value":}'.length);
});
