import { expect, it } from 'vitest';
import { openApi } from '../../src/import/read-export.ts';

it('repeats no password of an address', () => {
  expect(() => openApi('https://joe:hunter2@redash.example', {})).toThrow(
    /^The address has a user or password\. Set/,
  );
});
