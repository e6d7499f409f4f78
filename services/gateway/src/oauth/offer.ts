/** What a person or a key can give an agent: its hubs with their tools. */

import { isReadingCommand } from '@datahub/contract/commands';
import { isOfQueries } from '@datahub/contract/key-limits';
import { agentHubsMax } from '@datahub/contract/people/oauth';
import { withScope } from '@datahub/contract/roles';
import { createPlaces } from '../http/places.ts';
import type { RequestContext } from '../http/request-context.ts';
import { isHubOf } from '../mcp/tools.ts';
import type { Upstreams } from '../upstreams.ts';

export interface OfferedHub {
  hubId: string;
  label: string;
  /** The labels of its tools. */
  reading: string[];
  writing: string[];
}

export interface Offer {
  hubs: OfferedHub[];
  /** How many hubs cannot be chosen here, because there are too many. */
  hubsLeftOut: number;
  /** False if the hubs have more tools than are named here. */
  areAllTools: boolean;
  /** The scopes besides that of queries that read, which the client asks for and the caller has. */
  scopes: string[];
}

const classifiersMax = 1;
/** The tools of an account take tens of megabytes while they are read. */
const places = { allMax: 2, accountMax: 1, waitingMax: 50 };

export type ReadOffer = (context: RequestContext, asked: readonly string[]) => Promise<Offer>;

/** Few offers are read at a time, and accounts take turns. */
export function createReadOffer(upstreams: Pick<Upstreams, 'catalog' | 'ml'>): ReadOffer {
  const takePlace = createPlaces(
    places,
    `${places.waitingMax} pages of this account are waiting. Try again later.`,
  );
  return async (context, asked) => {
    using _place = await takePlace(context);
    return await readOffer(context, asked, upstreams);
  };
}

async function readOffer(
  context: RequestContext,
  asked: readonly string[],
  { catalog, ml }: Pick<Upstreams, 'catalog' | 'ml'>,
): Promise<Offer> {
  const { principal } = context;
  const has = (scope: Parameters<typeof withScope>[1]) =>
    asked.includes(scope) && principal !== undefined && withScope(principal, scope) !== undefined;
  const writer = has('queries:execute:write')
    ? principal && withScope(principal, 'queries:execute:write')
    : undefined;
  const [{ queries, truncated }, { classifiers }, listed] = await Promise.all([
    catalog.listTools({}, context),
    has('classifiers:predict') ? ml.listClassifiers({ offset: 0, limit: classifiersMax }, context) : none,
    listHubs(context, catalog),
  ]);
  const hubs = new Map(listed.hubs.map(({ hubId, label }) => [hubId, toOffered(hubId, label)]));
  for (const { hubId, label, command } of queries) {
    if (!hubs.has(hubId) && listed.isWhole) continue;
    let hub = hubs.get(hubId);
    if (hub === undefined) {
      const found = await catalog.getHub({ hubId }, context);
      hub = toOffered(hubId, found.hub?.label ?? hubId);
      hubs.set(hubId, hub);
    }
    if (isReadingCommand(command)) hub.reading.push(label);
    else if (isHubOf(writer, hubId)) hub.writing.push(label);
  }
  const all = [...hubs.values()];
  return {
    hubs: all.slice(0, agentHubsMax),
    hubsLeftOut: listed.total - listed.hubs.length + Math.max(0, all.length - agentHubsMax),
    areAllTools: !truncated,
    scopes: [
      ...(all.some(({ writing }) => writing.length > 0) ? ['queries:execute:write'] : []),
      ...(classifiers.length > 0 ? ['classifiers:predict'] : []),
      ...(has('ai:summarize') ? ['ai:summarize'] : []),
    ],
  };
}

const none = { classifiers: [] };
const toOffered = (hubId: string, label: string): OfferedHub => ({ hubId, label, reading: [], writing: [] });

/** A key that may not read hubs, or only some queries, is shown the hubs of its tools. */
async function listHubs(context: RequestContext, catalog: Upstreams['catalog']) {
  const { principal } = context;
  const reader = principal && withScope(principal, 'hubs:read');
  if (reader === undefined || isOfQueries(reader.limits ?? {})) return { hubs: [], total: 0, isWhole: false };
  const { hubs, total } = await catalog.listHubs(
    { page: { offset: 0, limit: agentHubsMax }, archived: false },
    context,
  );
  return { hubs, total, isWhole: true };
}
