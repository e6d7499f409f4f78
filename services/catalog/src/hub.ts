/** A hub: pure rules. */

import { createChecker } from './check.ts';
import type { HubDoc } from './documents.ts';

export interface MakeContext {
  accountId: string;
  nowMs: number;
  createId: (kind: 'hub' | 'src' | 'q' | 'hrt' | 'key' | 'acct', atMs: number) => string;
}

export function makeHub(label: string, { accountId, nowMs, createId }: MakeContext): HubDoc {
  const check = createChecker();
  const hub: HubDoc = {
    id: createId('hub', nowMs),
    accountId,
    version: 1,
    label: check.label(['label'], label),
    archived: 0,
    deleting: 0,
    queriesNodeId: createId('hrt', nowMs),
    sourcesNodeId: createId('hrt', nowMs),
    createdAt: nowMs,
    updatedAt: null,
  };
  check.done();
  return hub;
}

export interface HubPatch {
  label?: string | undefined;
  archived?: boolean | undefined;
}

/** The same document when the patch changes nothing. */
export function patchHub(hub: HubDoc, patch: HubPatch): HubDoc {
  const check = createChecker();
  const label = patch.label === undefined ? hub.label : check.label(['label'], patch.label);
  check.done();
  const archived = patch.archived === undefined ? hub.archived : Number(patch.archived);
  return label === hub.label && archived === hub.archived ? hub : { ...hub, label, archived };
}
