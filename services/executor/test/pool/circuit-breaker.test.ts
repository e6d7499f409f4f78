import { HubError } from '@datahub/service-kit/call/error';
import { expect, test } from 'vitest';
import { createBreaker, defaultBreakerSettings as settings } from '../../src/pool/circuit-breaker.ts';
import { SetUpFailed } from '../../src/ports/engine.ts';

const unreachable = new HubError('SOURCE_UNREACHABLE', 'x');
const refused = new HubError('SOURCE_AUTH', 'x');

function setup() {
  const clock = { ms: 1_000 };
  return { clock, breaker: createBreaker(settings, () => clock.ms) };
}

test('opens at five failures within ten seconds, not at five in eleven', () => {
  const { clock, breaker } = setup();
  for (let i = 0; i < 4; i++) breaker.failed(unreachable);
  clock.ms += 10_000;
  breaker.failed(unreachable);
  expect(breaker.state).toBe('closed');
  for (let i = 0; i < 4; i++) breaker.failed(unreachable);
  expect(breaker.state).toBe('open');
  expect(breaker.admit()).toMatchObject({ code: 'SOURCE_BUSY', retryable: true, retryAfterMs: 2_000 });
});

test('a success in between starts the count afresh', () => {
  const { breaker } = setup();
  for (let i = 0; i < 4; i++) breaker.failed(unreachable);
  breaker.succeeded();
  for (let i = 0; i < 4; i++) breaker.failed(unreachable);
  expect(breaker.state).toBe('closed');
});

test('lets one probe try, and closes with it', () => {
  const { clock, breaker } = setup();
  for (let i = 0; i < 5; i++) breaker.failed(unreachable);
  clock.ms += 2_000;
  expect(breaker.state).toBe('half-open');
  expect(breaker.admit()).toBeUndefined();
  expect(breaker.admit()).toMatchObject({ code: 'SOURCE_BUSY' });
  breaker.failed(unreachable);
  expect(breaker.admit()).toMatchObject({ code: 'SOURCE_BUSY' });
  clock.ms += 2_000;
  expect(breaker.admit()).toBeUndefined();
  breaker.abandoned();
  expect(breaker.admit()).toBeUndefined();
  breaker.succeeded();
  expect(breaker.state).toBe('closed');
  expect(breaker.admit()).toBeUndefined();
});

test('refused log-ins pause the source for a minute and never open the circuit', () => {
  const { clock, breaker } = setup();
  for (let i = 0; i < 5; i++) {
    expect(breaker.admit()).toBeUndefined();
    breaker.failed(refused);
    clock.ms += 1_000;
  }
  expect(breaker.state).toBe('closed');
  expect(breaker.admit()).toMatchObject({ code: 'SOURCE_AUTH', retryAfterMs: 59_000 });
  clock.ms += 59_000;
  expect(breaker.admit()).toBeUndefined();
});

test('does not count an attempt that the hub itself refused', () => {
  const { breaker } = setup();
  const byHub = new HubError('SOURCE_AUTH', 'x', { retryable: true });
  for (let i = 0; i < 5; i++) breaker.failed(byHub);
  expect(breaker.admit()).toBeUndefined();
});

test('a server that lacks something is up, and each attempt says what it lacks', () => {
  const { breaker } = setup();
  const lacks = SetUpFailed.refused(new HubError('SQL_REJECTED', 'x'));
  for (let i = 0; i < 20; i++) breaker.failed(lacks);
  expect([breaker.state, breaker.admit()]).toEqual(['closed', undefined]);
});
