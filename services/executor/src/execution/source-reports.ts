/**
 * Tells the catalog whether connections to a source open, once for each change. Changes within a pause are one report, so
 * a source that comes and goes is not reported each time.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../definitions/definition.ts';
import { principalOf } from './drift-watch.ts';

interface Source {
  sourceId: string;
  accountId: string;
}

export interface SourceReports {
  /** Call this when a connection was opened, or failed to open. */
  note(source: Source, err?: unknown): void;
  close(): Promise<void>;
}

export interface SourceReportsOptions {
  catalog: Pick<Catalog, 'noteSource'>;
  onFailure(err: unknown): void;
  pauseMs?: number;
}

/** Others, such as a pool that is full, say nothing of the source. */
const unreachableCodes = new Set(['SOURCE_UNREACHABLE', 'SOURCE_AUTH', 'SOURCE_TLS']);
const timeoutMs = 10_000;
/** Sources whose last report is known. Forgetting one costs a call. */
const knownMax = 10_000;

interface Seen {
  /** Absent if connections open. */
  code: string | undefined;
  /** What the catalog was told last. */
  told?: { code: string | undefined };
  telling?: Promise<void>;
}

export function createSourceReports(options: SourceReportsOptions): SourceReports {
  const { catalog, onFailure, pauseMs = 30_000 } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const known = new Map<string, Seen>();

  const isTold = ({ code, told }: Seen) =>
    told !== undefined && (told.code === undefined) === (code === undefined);
  const tell = async ({ sourceId, accountId }: Source, seen: Seen): Promise<void> => {
    while (!signal.aborted && !isTold(seen)) {
      const { code } = seen;
      const ctx = createCallContext({ timeoutMs, principal: principalOf(accountId) });
      await catalog.noteSource({ sourceId, reachable: code === undefined, code }, ctx).then(
        () => {
          seen.told = { code };
        },
        (err) => {
          // A source that was deleted has nobody to tell.
          if (err instanceof HubError && err.code === 'NOT_FOUND') seen.told = { code };
          else onFailure(err);
        },
      );
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  };

  return {
    note: (source, err) => {
      const code = err === undefined ? undefined : ((err as Partial<HubError>).code ?? '');
      if (code !== undefined && !unreachableCodes.has(code)) return;
      const { sourceId } = source;
      const seen: Seen = known.get(sourceId) ?? { code };
      seen.code = code;
      if (seen.telling !== undefined || isTold(seen) || signal.aborted) return;
      known.set(sourceId, seen);
      seen.telling = tell(source, seen).finally(() => delete seen.telling);
      const [oldest] = known;
      if (known.size > knownMax && oldest?.[1].telling === undefined) known.delete(oldest?.[0] ?? '');
    },
    close: async () => {
      closing.abort();
      await Promise.all([...known.values()].map(({ telling }) => telling));
    },
  };
}
