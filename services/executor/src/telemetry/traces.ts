/** Creates the spans of an execution when it has ended: the whole, the wait for a connection, and the statement. */

import type { EngineName } from '@datahub/contract/engines';
import type { HubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { Execution } from '../execution/execution-state.ts';

/** The names of OpenTelemetry's semantic conventions. */
const systems: Record<EngineName, string> = {
  postgres: 'postgresql',
  mysql: 'mysql',
  mariadb: 'mariadb',
  mongodb: 'mongodb',
};

export function traceExecution(execution: Execution, tracing: Tracing, err?: HubError): void {
  const { span, query } = execution;
  if (span === undefined) return;
  const endAt = execution.now();
  const waitedUntil = execution.runAt > 0 ? execution.runAt : endAt;
  const below = { parent: span.traceparent, startAt: execution.preparedAt };
  if (query !== undefined) {
    const wait = tracing.start('wait for a connection', { ...below, kind: 'internal' });
    wait.end({ endAt: waitedUntil, error: execution.runAt > 0 ? undefined : err?.code });
  }
  if (query !== undefined && execution.runAt > 0) {
    const { engine } = query.source;
    const database = tracing.start(query.command, {
      ...below,
      kind: 'client',
      startAt: execution.runAt,
      attributes: {
        'db.system.name': systems[engine],
        'db.operation.name': query.command,
        'datahub.query.id': query.queryId,
        'datahub.source.id': query.source.sourceId,
      },
    });
    const { rowCount } = execution.outcome ?? {};
    const state = err?.sql?.state;
    database.end({
      endAt: execution.outcome === undefined ? endAt : execution.runAt + execution.durationMs,
      error: err?.code,
      attributes: {
        ...(rowCount === undefined ? {} : { 'db.response.returned_rows': rowCount }),
        ...(state === undefined ? {} : { 'db.response.status_code': state }),
      },
    });
  }
  span.end({ endAt, error: err?.code });
}
