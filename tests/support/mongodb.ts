/** Databases of their own on the MongoDB server of MONGODB_URL. */

import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, describe } from 'vitest';

const serverUrl = process.env.MONGODB_URL;
const names: string[] = [];

/** Returns the URL of a new database. It is dropped after the tests of the file. */
export function newDatabaseUrl(): string {
  const url = new URL(serverUrl ?? '');
  const name = `test_${randomBytes(6).toString('hex')}`;
  names.push(name);
  url.pathname = `/${name}`;
  return url.href;
}

/** Tests that need the server. */
export function describeMongodb(timeout: number, define: () => void): void {
  const reason =
    serverUrl === undefined ? 'skipped: MONGODB_URL is not set' : 'with the server of MONGODB_URL';
  describe.skipIf(serverUrl === undefined)(reason, { timeout }, () => {
    afterAll(async () => {
      if (serverUrl === undefined) return;
      const client = new MongoClient(serverUrl);
      for (const name of names) await client.db(name).dropDatabase();
      await client.close();
    });
    define();
  });
}
