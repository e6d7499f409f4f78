/** Who is affected if a part of the hub is deleted. */

import { callJson, callList, part } from '../api/client.ts';
import type { Answer, Query, TreeNode } from '../api/types.ts';
import { hubId } from './workspace.ts';

export interface AffectedBy {
  words: string;
  names: string[];
}

const whole = new Intl.NumberFormat('en');
const counted = (n: number, one: string, many: string) => `${whole.format(n)} ${n === 1 ? one : many}`;

export async function affectedBy(node: TreeNode, signal: AbortSignal): Promise<AffectedBy> {
  if (node.nodeType === 'query') return callersOf(node.nodeId, signal);
  if (node.nodeType === 'source') return queriesOf(node.nodeId, signal);
  const inside = node.children.length;
  if (inside === 0) return { words: 'The folder is empty.', names: [] };
  return {
    words: `It contains ${counted(inside, 'entry', 'entries')}. Move or delete them first.`,
    names: node.children.map(({ label }) => label),
  };
}

async function callersOf(queryId: string, signal: AbortSignal): Promise<AffectedBy> {
  const usage = await callJson<Answer<'GET /v1/queries/{queryId}/usage'>>(
    `v1/queries/${part(queryId)}/usage`,
    { signal },
  );
  if (usage.count === 0) return { words: `Nobody has executed it since ${usage.from}.`, names: [] };
  const calls = counted(usage.count, 'execution', 'executions');
  return {
    words: `These programs get an error: ${counted(usage.totalKeys, 'key', 'keys')} executed it since ${usage.from} (${calls}).`,
    names: usage.keys.map(
      ({ keyId, name, count }) => `${name ?? `…${keyId.slice(-4)}`}: ${whole.format(count)}`,
    ),
  };
}

async function queriesOf(sourceId: string, signal: AbortSignal): Promise<AffectedBy> {
  const queries = await callList<Query>(`v1/queries?hubId=${part(hubId.value ?? '')}`, {
    signal,
    pageSize: 200,
  });
  const names = queries
    .filter(({ config }) => config.source.sourceId === sourceId)
    .map(({ meta }) => meta.label);
  if (names.length === 0) return { words: 'No query uses it.', names };
  const words = `${counted(names.length, 'query uses', 'queries use')} it. They remain, and fail with SOURCE_GONE until they have another source.`;
  return { words, names };
}
