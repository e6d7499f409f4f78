import type { Node } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyReply } from 'fastify';
import { expect, it } from 'vitest';
import { sendTree } from '../../src/resources/hub-tree.ts';

const nodeOf = (nodeId: string, children: Node[] = []): Node => ({
  ...{ nodeId, nodeType: 'folder', nodeSubType: 'queries', label: `"${nodeId}"`, children },
});

async function send(root: Node, truncated = false): Promise<string> {
  let sent = '';
  const reply = {
    header: () => reply,
    send: (bytes: Buffer) => {
      sent = bytes.toString();
    },
  } as unknown as FastifyReply;
  await sendTree(reply, { root, hubId: 'h', truncated }, { responseBudget: { reserve: () => {} } as never });
  return sent;
}

const jsonOf = ({ children, ...rest }: Node): object => ({
  ...{ hubId: 'h', parentNodeId: null, ...rest },
  children: children.map(jsonOf),
});

it('writes all nodes of a tree, and that it is cut', async () => {
  const root = nodeOf('r', [nodeOf('a', [nodeOf('b'), nodeOf('c', [nodeOf('d')])]), nodeOf('e')]);
  expect(JSON.parse(await send(root))).toEqual(jsonOf(root));
  expect(JSON.parse(await send(nodeOf('r'), true))).toEqual({ ...jsonOf(nodeOf('r')), truncated: true });
});

it('writes a deep tree and a wide one in turns', async () => {
  let deep = nodeOf('last');
  for (let i = 0; i < 50_000; i++) deep = nodeOf(`${i}`, [deep]);
  const wide = nodeOf(
    'wide',
    Array.from({ length: 50_000 }, (_, i) => nodeOf(`${i}`)),
  );
  for (const root of [deep, wide]) {
    let turns = 0;
    let isOver = false;
    const look = (): void => {
      turns++;
      if (!isOver) setImmediate(look);
    };
    setImmediate(look);
    const text = await send(root);
    isOver = true;
    expect(turns).toBeGreaterThan(3);
    expect(text.split('"nodeId"').length).toBe(50_002);
  }
});
