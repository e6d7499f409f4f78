import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { publicUrlOf } from '../../src/http/public-url.ts';

it('has the prefix that a trusted proxy says, and no other', async () => {
  const headers = {
    host: 'inner',
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-host': 'hub.example',
    'x-forwarded-proto': 'https',
  };
  const read = async (prefix: string, { trustProxy = true, origin = '' } = {}) => {
    const app = Fastify({ trustProxy: trustProxy && ['127.0.0.1'] });
    app.get('/', (request) => publicUrlOf(request, origin || undefined));
    const all = { ...headers, 'x-forwarded-prefix': prefix };
    return (await app.inject({ url: '/', headers: all })).body;
  };
  expect(await read('/data/hub/')).toBe('https://hub.example/data/hub');
  expect(await read('/hub', { origin: 'https://other.example' })).toBe('https://other.example/hub');
  expect(await read('/hub', { trustProxy: false })).toBe('http://inner');
  for (const wrong of ['//evil.example', 'hub', '/a?b', '/"x'])
    expect(await read(wrong)).toBe('https://hub.example');
});
