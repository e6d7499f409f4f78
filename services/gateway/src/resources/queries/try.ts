/** Runs a query that is not stored, or explains how its source would run it: `POST /v1/queries/try`. */

import { memberJson } from '../../http/json-body.ts';
import { type FromSchema, id, object, record } from '../../http/json-schema.ts';
import { validationError } from '../../http/request-error.ts';
import { type Handler, type Route, requireGranted } from '../../http/route.ts';
import { chooseFormat } from '../../response/format.ts';
import { StreamedResponse } from '../../response/streamed-response.ts';
import { endingOf, execution, runOptions, toOptions, toRetryableIfLost } from '../execute.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { readSession, session } from '../session-schema.ts';
import { draftPointers } from './checks.ts';
import { readVariables } from './queries.ts';
import { context, errors, notNull } from './query-schemas.ts';
import { command, queryText } from './statement-schemas.ts';

export function queryTryRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries/try', scope: 'queries:write', summary: 'Execute or explain a query that is not stored', audit: 'query.try', reads: true, body: tryBody, pointers: draftPointers, compressed: true, response: tried, handler: createTryHandler(deps) },
  ];
}

const tryBody = object(
  {
    sourceId: id,
    query: queryText,
    command,
    context,
    notNull,
    errors,
    session,
    values: { type: ['object', 'null'] },
    options: object({ ...runOptions, explain: { type: 'boolean' }, analyze: { type: 'boolean' } }),
  },
  ['sourceId', 'query'],
);
type TryBody = FromSchema<typeof tryBody>;

/** With `explain`, the answer has only the plan, as the database writes it. */
const tried = record({ ...execution.properties, plan: {} }, [
  'data',
  'truncated',
  'moreResults',
  'meta',
  'plan',
]);

function createTryHandler({ upstreams: { executor }, settings }: ResourceDeps): Handler {
  return async (request, reply) => {
    requireGranted(request, 'queries:execute');
    const body = request.body as TryBody;
    const { sourceId, query, command, notNull, errors, values, session: own, options = {} } = body;
    const { explain = false, analyze = false, ...rest } = options;
    if (analyze && !explain)
      throw validationError([{ pointer: '/options/analyze', detail: 'needs explain: true' }]);
    const variables = readVariables(request, { context: body.context, path: ['context'] });
    const format = chooseFormat(explain ? undefined : request.headers.accept);
    const answer = new StreamedResponse(request, reply, { settings, format, ending: endingOf(rest) });
    const call = {
      queryId: '',
      draft: {
        sourceId,
        query,
        command,
        context: variables,
        notNull: notNull ?? [],
        errors: errors ?? undefined,
        sessionJson: readSession(own),
        explain,
        analyze,
      },
      contextJson: memberJson(request, 'values', values),
      options: toOptions(rest),
      format: format.format,
    };
    try {
      await executor.execute(call, request.context, answer);
    } catch (err) {
      return answer.fail(toRetryableIfLost(err));
    }
    return answer.finish();
  };
}
