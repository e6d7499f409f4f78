import { expect, it } from 'vitest';
import { withoutValues } from '../../src/execution/execution-error.ts';

it.each<[string, unknown[], string]>([
  ['relation "secret" does not exist', ['Secret'], 'relation "…" does not exist'],
  ['relation "public.Secret" does not exist', ['public."Secret"', 1], 'relation "…" does not exist'],
  ['relation "public.secret" does not exist', [null, 'public.secret'], 'relation "…" does not exist'],
  ['time zone "Mars" not recognized', ['Mars', true], 'time zone "…" not recognized'],
  ['column "a" of relation "b" does not exist', ['c'], 'column "a" of relation "b" does not exist'],
  ['division by zero', ['zero'], 'division by zero'],
  ['type "a" does not exist', ['\n"', '"', '…"', ''], 'type "a" does not exist'],
  ['unit "zebra7 "quokka"" not recognized', ['Zebra7 "Quokka"'], 'unit "…" not recognized'],
  ['time zone "Zebra7 "a', ['Zebra7 "a\nb'], 'time zone "…"'],
  ['time zone "Zebra7', ['Zebra7\nsecond'], 'time zone "…"'],
  ['invalid value7 Quokka" for "Month"', ['Ze"7 Quokka'], 'invalid value…" for "Month"'],
  ['syntax error at or near "quokka"', ['some quokka here'], 'syntax error at or near "…"'],
])('%j is told of %j as %j', (message, params, told) => {
  expect(withoutValues(message, params)).toBe(told);
});

it('shows a name that a value has, too, if the statement has it', () => {
  const message = 'column "amount" does not exist';
  expect(withoutValues(message, ['the amount'], 'SELECT amount')).toBe(message);
});
