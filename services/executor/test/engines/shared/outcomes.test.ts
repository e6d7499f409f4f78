import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { toOutcome } from '../../../src/engines/shared/outcomes.ts';

const conflict = () =>
  new HubError('SQL_REJECTED', 'The statement conflicted with a concurrent one. Try again.', {
    retryable: true,
  });

it('tells nobody to try again what a procedure may have committed in part', () => {
  const shown = toOutcome(conflict(), { kind: 'standalone', isSent: true });
  expect(shown).toMatchObject({
    code: 'SQL_REJECTED',
    retryable: false,
    partial: true,
    message:
      'The statement conflicted with a concurrent one. It ran without a transaction, so what it had changed until then stays. Check the source before you repeat it.',
  });
});

it.each(['read', 'write'] as const)('leaves the advice to try again for a %s, which was undone', (kind) => {
  const err = conflict();
  expect(toOutcome(err, { kind, isSent: true })).toBe(err);
});
