import { expect, it } from 'vitest';
import { acceptedOf, toAccepted } from '../../src/mcp/accepted.ts';

const json = 'application/json';
const events = 'text/event-stream';

it.each([
  [undefined, 'both'],
  ['application/json, text/event-stream', 'both'],
  ['Text/Event-Stream, Application/JSON', 'both'],
  ['*/*', 'both'],
  ['application/*, text/*;q=0.1', 'both'],
  ['application/*', json],
  ['application/json', json],
  ['text/event-stream', events],
  ['*/*, text/event-stream;q=0', json],
  ['text/html, text/event-stream; charset=utf-8', events],
])('Accept: %s', (accept, expected) => expect(acceptedOf(accept)).toBe(expected));

it('refuses a client that accepts neither', () => {
  for (const accept of ['text/html', 'application/json;q=0', 'json'])
    expect(() => acceptedOf(accept)).toThrow('application/json or text/event-stream');
});

it('writes an answer in the accepted form', () => {
  const message = '{"result":{}}';
  const asEvent = { text: `event: message\ndata: ${message}\n\n`, contentType: events };
  const asJson = { text: message, contentType: json };
  expect(toAccepted(asEvent, json)).toEqual(asJson);
  expect(toAccepted(asJson, events)).toEqual(asEvent);
  for (const one of [asEvent, asJson]) expect(toAccepted(one, 'both')).toEqual(one);
});
