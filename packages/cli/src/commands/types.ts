import { type Command, isSet } from '../command.ts';
import { restoreDigits } from '../exact-numbers.ts';
import { findHub, type Hub } from '../hub.ts';
import { note } from '../output.ts';
import { type HubDocument, knowsColumns, queriesOf, toTypeScript } from '../types/hub-module.ts';
import { toPython } from '../types/python-module.ts';

export const types: Command = {
  name: 'types',
  arguments: 'HUB',
  summary:
    'Writes a module with the types of the queries of a hub to standard output. HUB is an id, a path or a label.',
  options: { python: { type: 'boolean', help: 'Write Python instead of TypeScript.' } },
  run: async (input, context) => {
    const hub = await context.hub();
    const { hubId, path } = await findHub(hub, input.positionals[0] ?? '');
    const pages = await readDocument(hub, hubId);
    const unknown = queriesOf(pages).filter((query) => !knowsColumns(query));
    if (unknown.length > 0)
      note(
        context,
        `The columns of these queries are unknown: ${unknown.map(({ label }) => label).join(', ')}`,
      );
    const write = isSet(input, 'python') ? toPython : toTypeScript;
    context.stdout.write(restoreDigits(write(path ?? hubId, pages)));
  },
};

const pageSize = 500;

async function readDocument(hub: Hub, hubId: string): Promise<HubDocument[]> {
  const pages: HubDocument[] = [];
  for (;;) {
    let total = 0;
    const page: unknown = await hub.call('GET /v1/hubs/{hubId}/openapi.json', {
      path: { hubId },
      query: { offset: pages.length * pageSize, limit: pageSize },
      onResponse: ({ headers }) => {
        total = Number(headers.get('x-total-count') ?? 0);
      },
    });
    pages.push(page as HubDocument);
    if (pages.length * pageSize >= total) return pages;
  }
}
