/** A hub: pure rules. */

import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import { hubPathPattern } from '@datahub/contract/limits';
import type { CreateHubRequest, UpdateHubRequest } from '@datahub/proto/catalog/v1/catalog';
import { type Checker, createChecker } from './check.ts';
import type { HubDoc } from './documents.ts';

export interface MakeContext {
  accountId: string;
  nowMs: number;
  createId: (
    kind: 'hub' | 'src' | 'q' | 'hrt' | 'key' | 'acct' | 'wtch' | 'dest' | 'grnt' | 'brd' | 'clnt',
    atMs: number,
  ) => string;
}

const isHubPath = new RegExp(hubPathPattern);

export type NewHub = CreateHubRequest;

export function makeHub({ label, path }: NewHub, { accountId, nowMs, createId }: MakeContext): HubDoc {
  const check = createChecker();
  const hub: Complete<HubDoc> = {
    id: createId('hub', nowMs),
    accountId,
    version: 1,
    label: check.label(['label'], label),
    archived: 0,
    deleting: 0,
    deleted: undefined,
    deletedPath: undefined,
    path: checkPath(check, path),
    grantsByName: undefined,
    queriesNodeId: createId('hrt', nowMs),
    sourcesNodeId: createId('hrt', nowMs),
    createdAt: nowMs,
    updatedAt: null,
  };
  check.done();
  return withoutUndefined<HubDoc>(hub);
}

/** Absent members stay unchanged. An empty path removes it. */
export type HubPatch = Pick<UpdateHubRequest, 'label' | 'archived' | 'path'>;

/** The same document when the patch changes nothing. */
export function patchHub(hub: HubDoc, patch: HubPatch): HubDoc {
  const check = createChecker();
  const changed: Complete<Pick<HubDoc, keyof HubPatch>> = {
    label: patch.label === undefined ? hub.label : check.label(['label'], patch.label),
    archived: patch.archived === undefined ? hub.archived : Number(patch.archived),
    path: checkPath(check, patch.path ?? hub.path),
  };
  const next = withoutUndefined<HubDoc>({ ...hub, ...changed });
  check.done();
  const isSame = next.label === hub.label && next.archived === hub.archived && next.path === hub.path;
  return isSame ? hub : next;
}

const checkPath = (check: Checker, text: string | undefined): string | undefined =>
  text === undefined ? undefined : check.path(['path'], text, isHubPath);
