/** A hub: pure rules. */

import { hubPathPattern } from '@datahub/contract/limits';
import { type Checker, createChecker } from './check.ts';
import type { HubDoc } from './documents.ts';

export interface MakeContext {
  accountId: string;
  nowMs: number;
  createId: (kind: 'hub' | 'src' | 'q' | 'hrt' | 'key' | 'acct', atMs: number) => string;
}

const isHubPath = new RegExp(hubPathPattern);

export interface NewHub {
  label: string;
  path?: string | undefined;
}

export function makeHub({ label, path }: NewHub, { accountId, nowMs, createId }: MakeContext): HubDoc {
  const check = createChecker();
  const hub: HubDoc = {
    id: createId('hub', nowMs),
    accountId,
    version: 1,
    label: check.label(['label'], label),
    archived: 0,
    deleting: 0,
    ...withPath(check, path),
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
  /** An empty text removes the path. */
  path?: string | undefined;
}

/** The same document when the patch changes nothing. */
export function patchHub(hub: HubDoc, patch: HubPatch): HubDoc {
  const check = createChecker();
  const { path, ...rest } = hub;
  const next: HubDoc = {
    ...rest,
    label: patch.label === undefined ? hub.label : check.label(['label'], patch.label),
    archived: patch.archived === undefined ? hub.archived : Number(patch.archived),
    ...withPath(check, patch.path ?? path),
  };
  check.done();
  const isSame = next.label === hub.label && next.archived === hub.archived && next.path === hub.path;
  return isSame ? hub : next;
}

function withPath(check: Checker, text: string | undefined): Pick<HubDoc, 'path'> {
  const path = text === undefined ? undefined : check.path(['path'], text, isHubPath);
  return path === undefined ? {} : { path };
}
