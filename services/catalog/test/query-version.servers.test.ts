import { MongoClient } from 'mongodb';
import { afterAll, describe } from 'vitest';
import { openCatalogStore } from '../src/store.ts';
import { describeQueryVersions } from './query-version-cases.ts';

const serverUrl = process.env.MONGODB_URL;
const databases: string[] = [];

function freshUrl(): string {
  const url = new URL(serverUrl ?? '');
  const name = `versions_test_${process.pid}_${databases.length}`;
  databases.push(name);
  url.pathname = `/${name}`;
  return url.href;
}

afterAll(async () => {
  if (serverUrl === undefined) return;
  const client = new MongoClient(serverUrl);
  for (const name of databases) await client.db(name).dropDatabase();
  await client.close();
});

const reason = serverUrl === undefined ? 'skipped: MONGODB_URL is not set' : 'with the server of MONGODB_URL';
describe.skipIf(serverUrl === undefined)(reason, { timeout: 240_000 }, () => {
  describeQueryVersions('MongoDB', () => openCatalogStore(freshUrl()));
});
