import { afterAll, expect, it, vi } from 'vitest';

// The module of the form also sends requests, with the key of the tab.
vi.stubGlobal('sessionStorage', { getItem: () => null });
afterAll(() => vi.unstubAllGlobals());
const { faultsOfForm, faultsOfProblem, unchanged } = await import('../../../src/pages/source/form-faults.ts');
const { emptyForm } = await import('../../../src/pages/source/settings.ts');

it('finds what is missing or no number before the hub is asked', () => {
  expect(Object.keys(faultsOfForm({ ...emptyForm, port: '70000', poolMax: 'ten' }))).toEqual([
    'host',
    'port',
    'database',
    'poolMax',
  ]);
  const whole = { ...emptyForm, host: 'db', database: 'shop' };
  expect(faultsOfForm(whole)).toEqual({});
  expect(faultsOfForm({ ...whole, srv: true, port: '' })).toEqual({});
});

it('shows what the hub rejects at the field, and drops it when the field changes', () => {
  const problem = {
    status: 400,
    code: 'VALIDATION',
    errors: [
      { pointer: '/connectionSettings/port', detail: 'must be <= 65535' },
      { pointer: '/connectionSettings/hosts/0/port', detail: 'must be an integer' },
      { pointer: '/connectionSettings/tls/ca', detail: 'is not a PEM file' },
      { pointer: '/hubId', detail: 'is unknown' },
    ],
  };
  const faults = faultsOfProblem(problem, emptyForm);
  expect(faults).toEqual({
    port: 'It must be <= 65535.',
    hosts: 'It must be an integer.',
    ca: 'It is not a PEM file.',
  });
  expect(Object.keys(unchanged(faults, emptyForm, { ...emptyForm, port: '5433' }))).toEqual(['hosts', 'ca']);
  expect(faultsOfProblem({ status: 502, code: 'SOURCE_AUTH' }, emptyForm)).toHaveProperty('user');
});
