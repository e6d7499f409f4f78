/** Sends the tree of a hub. Its nodes are written one by one, because there can be 150,000. */

import type { Node } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyReply } from 'fastify';
import { type FromSchema, list, record, text, textOrNull } from '../http/json-schema.ts';
import { ResponseBytes } from '../response/response-bytes.ts';
import type { ResponseSettings } from '../response/streamed-response.ts';

/** A node of a hub's tree. The schema of its children refers to the component `Node`. */
export const node = record(
  {
    hubId: text,
    nodeId: text,
    parentNodeId: textOrNull,
    nodeType: { type: 'string', enum: ['root', 'category', 'folder', 'source', 'query'] },
    nodeSubType: { type: 'string', enum: ['queries', 'sources'] },
    label: text,
    children: list({ $ref: '#/components/schemas/Node' }),
    truncated: { const: true },
  },
  ['nodeSubType', 'truncated'],
);

export interface HubTree {
  root: Node;
  hubId: string;
  truncated: boolean;
}

/** Resolves to the reply, as the handler of a route does. */
export async function sendTree(
  reply: FastifyReply,
  { root, hubId, truncated }: HubTree,
  { responseBudget }: Pick<ResponseSettings, 'responseBudget'>,
): Promise<FastifyReply> {
  const bytes = new ResponseBytes(reply.request, responseBudget);
  await bytes.add(beginningOf(root, hubId));
  /** The nodes that have begun, with the number of their children that have. */
  const path = [{ node: root, begun: 0 }];
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    const child = last.node.children[last.begun];
    if (child === undefined) {
      path.pop();
      await bytes.add(path.length === 0 && truncated ? '],"truncated":true}' : ']}');
    } else {
      await bytes.add((last.begun === 0 ? '' : ',') + beginningOf(child, hubId));
      last.begun++;
      path.push({ node: child, begun: 0 });
    }
  }
  return reply.header('content-type', 'application/json; charset=utf-8').send(bytes.end());
}

/** Up to its children. */
function beginningOf(node: Node, hubId: string): string {
  const { nodeId, parentNodeId, nodeType, nodeSubType, label } = node;
  const json = { hubId, nodeId, parentNodeId: parentNodeId ?? null, nodeType, nodeSubType, label };
  return `${JSON.stringify(json satisfies Record<keyof NodeJson, unknown>).slice(0, -1)},"children":[`;
}

type NodeJson = Omit<FromSchema<typeof node>, 'children' | 'truncated'>;
