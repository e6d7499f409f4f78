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
  const title = pages[page];
  if (title !== undefined) return { above: [label], here: title };
  if (page === 'classifier') {
    const name = classifiers.value.find(({ classifierId }) => classifierId === id)?.name;
    return { above: [label], here: name ?? 'Classifier' };
  }
  const named = findNode(id)?.node.label;
  // The tree is still loading, or it has no such thing.
  if (named === undefined) return { above: [], here: label };
  return { above: [label, ...foldersAbove(id)], here: named };
});

effect(() => {
  document.title = `${crumbs.value.here} · Data Hub`;
});
