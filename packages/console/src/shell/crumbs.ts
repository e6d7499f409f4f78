/** The names that lead to what is shown, for the bar and the title of the tab. */

import { computed, effect } from '@preact/signals';
import { route } from './route.ts';
import { classifiers, findNode, foldersAbove, hub } from './workspace.ts';

const pages: Record<string, string> = {
  'new-query': 'New query',
  'new-source': 'New source',
  'new-classifier': 'New classifier',
  summary: 'Summaries',
  statistics: 'Statistics',
  keys: 'Keys',
  audit: 'Audit',
};

export const crumbs = computed((): { above: string[]; here: string } => {
  const [area, , page, id] = route.value;
  if (area === 'run') return { above: [], here: 'Run by id' };
  if (area !== 'hub') return { above: [], here: 'Hubs' };
  const label = hub.value?.label ?? 'Hub';
  if (page === undefined) return { above: [], here: label };
  const named = pages[page];
  if (named !== undefined) return { above: [label], here: named };
  if (page === 'classifier') {
    const name = classifiers.value.find(({ classifierId }) => classifierId === id)?.name;
    return { above: [label], here: name ?? 'Classifier' };
  }
  return { above: [label, ...foldersAbove(id)], here: findNode(id)?.node.label ?? '' };
});

effect(() => {
  const { here } = crumbs.value;
  document.title = here === '' ? 'Data Hub' : `${here} · Data Hub`;
});
