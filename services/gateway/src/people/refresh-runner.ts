/** Asks the provider now and then whether it still knows the people who signed in. Any gateway can ask for any person. */

import { setTimeout } from 'node:timers/promises';
import type { EndRefreshRequest, Refresh } from '@datahub/proto/catalog/v1/people';
import { createCallContext } from '@datahub/service-kit/call/call';
import { loadOnce } from '@datahub/service-kit/load-once';
import { startPolling, type Taken, unlessUnavailable } from '@datahub/service-kit/process/poll';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Upstreams } from '../upstreams.ts';
import type { OidcSettings } from './oidc-settings.ts';
import { openToken, sealToken, toSignIn } from './refresh-tokens.ts';

interface RefreshRunnerDeps {
  upstreams: Pick<Upstreams, 'catalog'>;
  logger: Logger;
}

/** People who are asked about at the same time. 100,000 take less than an hour if the provider answers within a second. */
const placesMax = 32;
const callTimeoutMs = 5_000;
const keepPausesMs = [250, 1_000, 2_000, 4_000, 8_000];

export function createRefreshRunner(
  settings: OidcSettings,
  { upstreams: { catalog }, logger }: RefreshRunnerDeps,
): { close(): Promise<void> } {
  const onFailure = unlessUnavailable((err) => {
    logger.warn({ event: 'sign-in.refresh', err }, 'the provider could not be asked; it will be tried again');
  });

  /** It reads the provider's own description once for all. */
  const provider = loadOnce(async () => (await import('./provider.ts')).createProvider(settings));

  const refreshOne = async (refresh: Refresh): Promise<void> => {
    const token = openToken(settings, refresh, refresh.refreshToken);
    if (token === undefined) {
      await catalog.endRefresh({ refresh, ended: false, said: undefined }, context());
      return;
    }
    let asked = refresh;
    const person = await (await provider()).refresh(token, refresh.subject, async (next) => {
      const nextToken = sealToken(settings, refresh, next);
      await keep({ refresh, ended: false, nextToken }, catalog, onFailure);
      asked = { ...refresh, refreshToken: nextToken };
    });
    const said = person && toSignIn(person, settings, Date.now());
    await catalog.endRefresh({ refresh: asked, ended: said === undefined, said }, context());
  };

  const running = new Set<Promise<void>>();
  const begin = (refresh: Refresh) => {
    const asking = refreshOne(refresh)
      .catch(onFailure)
      .finally(() => running.delete(asking));
    running.add(asking);
  };
  const take = async (): Promise<Taken> => {
    const { refreshes } = await catalog.takeRefreshes({ limit: placesMax - running.size }, context());
    refreshes.forEach(begin);
    return refreshes.length > 0 ? 'more' : 'some';
  };

  const poll = startPolling({
    everyMs: Math.min(settings.refreshMs, 10_000),
    hasPlace: () => running.size < placesMax,
    take,
    onFailure,
  });
  return {
    close: async () => {
      await poll.stop();
      await Promise.all(running);
    },
  };
}

const context = () => createCallContext({ timeoutMs: callTimeoutMs });

/** The token before is used up, so one that is lost would look like a person whom the provider no longer knows. */
async function keep(
  kept: EndRefreshRequest,
  catalog: Upstreams['catalog'],
  onFailure: (err: unknown) => void,
): Promise<void> {
  for (const pauseMs of keepPausesMs)
    try {
      await catalog.endRefresh(kept, context());
      return;
    } catch (err) {
      onFailure(err);
      await setTimeout(pauseMs);
    }
  await catalog.endRefresh(kept, context());
}
