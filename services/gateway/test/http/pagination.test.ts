import type { FastifyReply } from 'fastify';
import { expect, it } from 'vitest';
import { type Page, setPageHeaders } from '../../src/http/pagination.ts';

function headersOf(page: Page, total: number) {
  const headers: Record<string, string> = {};
  const reply = {
    request: { url: '/v1/keys' },
    header: (name: string, value: string) => {
      headers[name] = value;
    },
  };
  setPageHeaders(reply as unknown as FastifyReply, page, total);
  return headers;
}

it('links to the next page of a list that is longer than a page, also if no limit was sent', () => {
  const all = { offset: 0, limit: undefined };
  expect(headersOf(all, 10_000)).toEqual({ 'x-total-count': '10000' });
  expect(headersOf(all, 10_001).link).toContain('<?offset=10000&limit=10000>; rel="next"');
  expect(headersOf({ ...all, offset: 10_000 }, 10_001).link).toBeUndefined();
  expect(headersOf({ offset: 50, limit: 50 }, 120).link?.split(', ')).toEqual([
    '<?offset=0&limit=50>; rel="first"',
    '<?offset=100&limit=50>; rel="last"',
    '<?offset=0&limit=50>; rel="prev"',
    '<?offset=100&limit=50>; rel="next"',
  ]);
});
