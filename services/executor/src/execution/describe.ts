/** Compiles a query and describes it at its source without running it; what was found is kept with the query. */

import type { Executor } from '@datahub/executor-session/executor';
import type { DescribeQueryResponse } from '@datahub/proto/executor/v1/executor';
import { requirePrincipal } from '@datahub/service-kit/call/call';
import type { Definitions, QueryDefinition } from '../definitions/definition-cache.ts';
import { uniqueNames } from '../result/column-names.ts';
import type { Catalog } from '../service.ts';
import { requireWithinLimits } from './authorize.ts';
import type { CompileQuery } from './compiled-query.ts';
import { toFailure } from './execution-error.ts';
import { askSource, type SourceDeps } from './source-checks.ts';

export interface DescribeDeps extends Omit<SourceDeps, 'definitions'> {
  definitions: Pick<Definitions, 'query'>;
  catalog: Pick<Catalog, 'saveSignature'>;
  compile: CompileQuery;
}

export function createDescribeCalls(deps: DescribeDeps): Pick<Executor, 'describeQuery'> {
  return {
    describeQuery: async ({ queryId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const query = await deps.definitions.query(queryId, principal, ctx);
      requireWithinLimits(principal, query);
      const prepared = deps.compile(query);
      const statement = prepared.describable();
      try {
        const signature = await askSource(query.source, ctx, {
          ...deps,
          ask: (connection) => connection.describe(statement),
        });
        const names = uniqueNames(signature.columns.map(({ name }) => name));
        // Under the names that answers have, where those that come twice are numbered.
        const columns = signature.columns.map((column, i) => ({ ...column, name: names[i] as string }));
        const described = { columns, variables: prepared.variables(signature) };
        await deps.catalog.saveSignature(toSaved(query, described), ctx);
        return described;
      } catch (err) {
        throw toFailure(err, 'prepare', {
          place: (fault) => prepared.toStored(fault, statement),
          word: prepared.toWords,
        });
      }
    },
  };
}

function toSaved({ queryId, version, source }: QueryDefinition, described: DescribeQueryResponse) {
  const { settingsVersion } = source;
  return { queryId, version, settingsVersion, signatureJson: JSON.stringify(described) };
}
