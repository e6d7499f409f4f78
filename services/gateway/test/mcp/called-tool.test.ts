import { expect, it } from 'vitest';
import { toCalled } from '../../src/mcp/call-tool.ts';
import type { AgentTool } from '../../src/mcp/tools.ts';

it('keeps nothing large of a tool while it runs', () => {
  const context = ['a', 'b'].map((key) => ({ key, secret: key === 'b', enumJson: 'x'.repeat(1_000_000) }));
  const query = { queryId: 'q', hubId: 'h', path: 'p', query: 'x'.repeat(100_000), context };
  const tool = { kind: 'query', name: 'n', title: 't', description: 'd', reads: true, query };
  expect(toCalled(tool as unknown as AgentTool)).toEqual({
    kind: 'query',
    reads: true,
    query: { queryId: 'q', hubId: 'h', path: 'p' },
    secrets: ['b'],
  });
});
