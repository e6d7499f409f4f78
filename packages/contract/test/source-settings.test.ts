import { expect, it } from 'vitest';
import { serverName } from '../src/source-settings.ts';

it.each([
  ['db.example.com', 'DB.example.com.'],
  ['127.0.0.1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1', '127.1', '0x7f.0.0.1'],
  ['::1', '0:0:0:0:0:0:0:1'],
  ['my_db', 'MY_DB'],
])('%s is one server, however it is spelled', (first, ...others) => {
  for (const other of others) expect(serverName(other, 5432)).toBe(serverName(first, 5432));
  expect(serverName(first, 5433)).not.toBe(serverName(first, 5432));
  expect(serverName(`a.${first}`, 5432)).not.toBe(serverName(first, 5432));
});
