/** Opens `#/q/<queryId>?region=north`, a link that names no hub, where the key may use the query. */

import { useEffect } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { addressQuery, goInstead, setAddressQuery } from '../../state/route.ts';
import { useLoad } from '../../ui/load.tsx';
import { Loading } from '../../ui/page.tsx';
import { PageProblem } from '../../ui/page-problem.tsx';

export function ShortLink({ queryId }: { queryId: string }) {
  const loaded = useLoad((signal) => callJson<Query>(`v1/queries/${part(queryId)}`, { signal }), [queryId]);
  const { problem } = loaded;
  const hubId = loaded.value?.meta.hubId;
  // A key that may only execute runs the query by its id.
  const mayOnlyRun = problem?.code === 'SCOPE_DENIED';
  useEffect(() => {
    if (hubId === undefined && !mayOnlyRun) return;
    const query = addressQuery.peek();
    if (hubId === undefined) goInstead('run', queryId);
    else goInstead('hub', hubId, 'query', queryId);
    setAddressQuery(query);
  }, [hubId, mayOnlyRun, queryId]);
  if (problem !== undefined) return <PageProblem problem={problem} />;
  return <Loading what="the query" />;
}
