/** Views whose code is loaded after the first page. */

import { signal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import { useLoad } from '../ui/load.tsx';
import { Loading } from '../ui/page.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { applyStyles } from '../ui/styles.ts';

type LaterViews = typeof import('./lazy-views.ts');

const loaded = signal<LaterViews>();

/** Resolves when the code and its style sheet are there. */
export async function loadLater(): Promise<LaterViews> {
  if (loaded.value !== undefined) return loaded.value;
  const views = await import('./lazy-views.ts');
  if (views.build !== BUILD) throw new Error('The code is of another version of the hub.');
  if (loaded.value === undefined) applyStyles(views.styles);
  loaded.value = views;
  return views;
}

/** Once loaded, the views open at once: keys that follow Ctrl+K go to the search, not to the page behind it. */
export function Later({ children }: { children(views: LaterViews): ComponentChild }) {
  return loaded.value === undefined ? <LoadLater /> : children(loaded.value);
}

function LoadLater() {
  const { problem } = useLoad(loadLater, []);
  if (problem === undefined) return <Loading what="the page" />;
  const detail = 'Its code could not be loaded. Reload the page.';
  return <ProblemBox problem={{ status: 0, title: 'The page is incomplete', detail }} />;
}
