import { expect, it } from 'vitest';
import { withoutValues } from '../../src/execution/execution-error.ts';

it.each<[string, unknown[], string]>([
  ['relation "secret" does not exist', ['Secret'], 'relation "…" does not exist'],
  ['relation "public.Secret" does not exist', ['public."Secret"', 1], 'relation "…" does not exist'],
  ['relation "public.secret" does not exist', [null, 'public.secret'], 'relation "…" does not exist'],
  ['time zone "Mars" not recognized', ['Mars', true], 'time zone "…" not recognized'],
  ['column "a" of relation "b" does not exist', ['c'], 'column "a" of relation "b" does not exist'],
  ['division by zero', ['zero'], 'division by zero'],
])('%j is told of %j as %j', (message, params, told) => {
  expect(withoutValues(message, params)).toBe(told);
});
