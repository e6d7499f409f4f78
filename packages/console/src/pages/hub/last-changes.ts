/** When queries were changed last: the hub tells it with their versions, so it is asked for few at a time. */

import { useEffect, useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { QueryVersion } from '../../api/types.ts';

const atOnce = 4;
const askedMax = 50;

export function useLastChanges(queryIds: string[]): ReadonlyMap<string, string> {
  const [known, setKnown] = useState<ReadonlyMap<string, string>>(new Map());
  const asked = queryIds.slice(0, askedMax);
  useEffect(() => {
    const stop = new AbortController();
    const waiting = asked.filter((id) => !known.has(id));
    const found = new Map(known);
    const ask = async () => {
      for (let id = waiting.shift(); id !== undefined && !stop.signal.aborted; id = waiting.shift()) {
        const path = `v1/queries/${part(id)}/versions?limit=1`;
        const [latest] = await callJson<QueryVersion[]>(path, { signal: stop.signal }).catch(() => []);
        if (latest !== undefined) found.set(id, latest.at);
      }
    };
    void Promise.all(Array.from({ length: atOnce }, ask)).then(() => !stop.signal.aborted && setKnown(found));
    return () => stop.abort();
  }, [asked.join()]);
  return known;
}
