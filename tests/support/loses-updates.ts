/** Whether the store behind a URL may lose one of two updates that come at once. */

import { MongoClient } from 'mongodb';

/** FerretDB 1 reads, changes and writes without a lock, so of two processes that update a document at once one is lost. */
export async function losesUpdates(url: string | undefined): Promise<boolean> {
  const client = await new MongoClient(url ?? '').connect();
  try {
    return 'ferretdbVersion' in (await client.db().admin().buildInfo());
  } finally {
    await client.close();
  }
}
