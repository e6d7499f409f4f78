import { expect, it } from 'vitest';
import { hiddenValues, withoutHidden } from '../../src/execution/hidden-values.ts';

it('finds the values that the key sets, and those of secret variables', () => {
  const variables = [{ key: 'token', secret: true }, { key: 'n' }];
  const contextJson = '{"token":["a b",1.50],"n":7,"other":"x"}';
  const pinnedJson = '{"tenant":748392,"flag":true,"none":null,"any":{"a":1}}';
  expect(hiddenValues({ variables, contextJson, pinnedJson })).toEqual(['748392', 'a b', '1.50']);
  expect(hiddenValues({ variables: [], contextJson, pinnedJson: '' })).toEqual([]);
});

it.each<[string, string, string]>([
  ['date field value out of range: 748392-13-40', '748392', 'date field value out of range: …-13-40'],
  ['Latitude 748392.000000 is out of range', '748392', 'Latitude … is out of range'],
  ['index 748392 out of valid range', '-748392', 'index … out of valid range'],
  ['operator does not exist: Zebra7', 'zebra7\nnext', 'operator does not exist: …'],
  ['index 7483920 out of valid range', '748392', 'index 7483920 out of valid range'],
  ['column "in" does not exist', 'in', 'column "in" does not exist'],
])('%j is told of %j as %j', (message, value, told) => {
  expect(withoutHidden(message, [value])).toBe(told);
});

it('shows what the statement has', () => {
  expect(withoutHidden('index 100 out of range', ['100'], 'SELECT get_byte(x, 100)')).toContain('100');
});
