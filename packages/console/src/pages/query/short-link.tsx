/** Opens `#/q/<queryId>?region=north`: a link that names no hub. */

import { useEffect } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { membersOf } from '../../state/address-values.ts';
import { addressQuery, goInstead, setAddressQuery } from '../../state/route.ts';
import { useLoad } from '../../ui/load.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { RunById } from './run-by-id.tsx';

export function ShortLink({ queryId }: { queryId: string }) {
  const loaded = useLoad((signal) => callJson<Query>(`v1/queries/${part(queryId)}`, { signal }), [queryId]);
  const hubId = loaded.value?.meta.hubId;
  useEffect(() => {
    if (hubId === undefined) return;
    const query = addressQuery.peek();
    goInstead('hub', hubId, 'query', queryId);
    setAddressQuery(query);
  }, [hubId, queryId]);
  const { problem } = loaded;
  // This key may only execute.
  if (problem?.code === 'SCOPE_DENIED')
    return <RunById queryId={queryId} values={contextOf(addressQuery.value)} problem={problem} />;
  if (problem !== undefined) return <ProblemBox problem={problem} />;
  return <Loading what="the query" />;
}

/** The values as JSON. The types of the variables are unknown here. */
function contextOf(text: string): string {
  const members = [...membersOf(text)].map(([name, values]) => [
    name,
    values.length > 1 ? values : values[0],
  ]);
  return JSON.stringify(Object.fromEntries(members));
}
