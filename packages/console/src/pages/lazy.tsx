/** Views whose code is loaded after the first page. */

import { signal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import { addressOf } from '../api/client.ts';
import { useLoad } from '../ui/load.tsx';
import { Loading } from '../ui/page.tsx';
import { ProblemBox } from '../ui/problem.tsx';

declare global {
  /** Names the build, which sets it. */
  const BUILD: string;
}

type LaterViews = typeof import('./lazy-views.ts');

const loaded = signal<LaterViews>();

/** Resolves when the code and its style sheet are there. */
export async function loadLater(): Promise<LaterViews> {
  const [views] = await Promise.all([import('./lazy-views.ts'), loadStyles()]);
  if (views.build !== BUILD) throw new Error('The code is of another version of the hub.');
  loaded.value = views;
  return views;
}

const styles = addressOf('console/later.css');

async function loadStyles(): Promise<void> {
  let link = document.querySelector<HTMLLinkElement>(`link[href="${styles}"]`);
  if (link?.sheet) return;
  const isNew = link === null;
  link ??= Object.assign(document.createElement('link'), { rel: 'stylesheet', href: styles });
  await new Promise<void>((resolve, reject) => {
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      reject(new TypeError('The style sheet could not be loaded.'));
    });
    if (isNew) document.head.append(link);
  });
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
