/** Answers another process about a transaction whose COMMIT has no recorded outcome. */

import type { Executor } from '@datahub/executor-session/executor';
import { FindCommitResponse_End as End } from '@datahub/proto/executor/v1/executor';
import { type Deadlines, requirePrincipal } from '@datahub/service-kit/call/call';
import type { SourceDefinition } from '../../definitions/definition.ts';
import type { Definitions } from '../../definitions/definition-cache.ts';
import type { PoolRegistry } from '../../pool/pool-registry.ts';
import { askHowEnded, askUntilOver } from './lost-commit.ts';

export interface FindCommitDeps {
  definitions: Pick<Definitions, 'source'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  now: () => number;
  deadlines: Deadlines;
}

const ends = {
  committed: End.END_COMMITTED,
  aborted: End.END_ABORTED,
  running: End.END_RUNNING,
  unknown: End.END_UNSPECIFIED,
} as const;

export function createFindCommit(deps: FindCommitDeps): Executor['findCommit'] {
  return async ({ sourceId, server, transactionId, isLeft }, ctx) => {
    const { keyId } = requirePrincipal(ctx);
    const source = await deps.definitions.source(sourceId, ctx);
    const options = { ...deps, pool: deps.pools.pool(source), key: keyId };
    const name = { server, id: transactionId };
    const end = isLeft
      ? await askUntilOver(name, options)
      : await askHowEnded(name, { ...options, stops: false });
    return { end: ends[end] };
  };
}
