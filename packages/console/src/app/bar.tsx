/** The bar at the top: where one is, search, theme, sign out. */

import { computed, effect, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { bySession, key, signOut } from '../api/session.ts';
import { Later } from '../pages/lazy.tsx';
import { Bell } from '../pages/watches/bell.tsx';
import { linkTo, route } from '../state/route.ts';
import { setTheme, theme } from '../state/theme.ts';
import { classifiers, findNode, foldersAbove, hub, hubId } from '../state/workspace.ts';
import { Icon } from '../ui/icons.tsx';
import { modifier } from '../ui/keyboard.ts';
import { Menu } from '../ui/menu.tsx';

export function Bar({ sideOpen, onSide }: { sideOpen: boolean; onSide(): void }) {
  return (
    <header class="bar">
      <button
        type="button"
        class="quiet icon-only side-button"
        aria-label="Show the tree"
        aria-expanded={sideOpen}
        aria-controls="side"
        onClick={onSide}
      >
        <Icon name="menu" />
      </button>
      <a class="logo" href={linkTo('hubs')} aria-label="Data Hub">
        <i aria-hidden="true" />
        <span>Data Hub</span>
      </a>
      <Crumbs />
      <Find />
      <Bell />
      <Menu
        label="Theme"
        icon={theme.value === 'dark' ? 'moon' : 'sun'}
        items={[
          { label: 'Light', run: () => setTheme('light') },
          { label: 'Dark', run: () => setTheme('dark') },
          { label: 'As the system', run: () => setTheme('system') },
        ]}
      />
      {key.value === bySession ? (
        <Later>{({ PersonMenu }) => <PersonMenu />}</Later>
      ) : (
        <span class="account" title="The last characters of the key of this tab">
          <Icon name="key" />…{key.value?.slice(-4)}
        </span>
      )}
      <button type="button" class="quiet" onClick={signOut}>
        Sign out
      </button>
    </header>
  );
}

function Crumbs() {
  const { above, here } = crumbs.value;
  return (
    <nav class="crumbs" aria-label="Where you are">
      {above.map((label, at) => (
        <span key={label} class="crumb-above">
          {at === 0 && hubId.value !== undefined ? <a href={linkTo('hub', hubId.value)}>{label}</a> : label}{' '}
          <i aria-hidden="true">/</i>
        </span>
      ))}
      <b>{here}</b>
    </nav>
  );
}

function Find() {
  const searching = useSignal(false);
  const asking = useSignal(false);
  useEffect(() => {
    const keydown = (event: KeyboardEvent) => {
      if (event.key === '?' && !isTyping(event)) asking.value = true;
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
      event.preventDefault();
      searching.value = true;
    };
    addEventListener('keydown', keydown);
    return () => removeEventListener('keydown', keydown);
  }, [searching]);
  const set = (on: boolean) => () => {
    searching.value = on;
  };
  return (
    <>
      <button type="button" class="find" onClick={set(true)}>
        <Icon name="search" />
        <span>Search queries and tables</span>
        <kbd>{modifier}K</kbd>
      </button>
      {searching.value && <Later>{({ Search }) => <Search onClose={set(false)} />}</Later>}
      {asking.value && (
        <Later>
          {({ KeysHelp }) => (
            <KeysHelp
              onClose={() => {
                asking.value = false;
              }}
            />
          )}
        </Later>
      )}
    </>
  );
}

/** True in a field, where `?` is a character, and in a dialog. */
const isTyping = ({ target }: KeyboardEvent): boolean =>
  (target as Element).closest('input, textarea, select, [contenteditable], dialog') !== null;

const pages: Record<string, string> = {
  'new-query': 'New query',
  'new-source': 'New source',
  'new-classifier': 'New classifier',
  summary: 'Summaries',
  statistics: 'Statistics',
  keys: 'Keys',
  people: 'People',
  agents: 'Agents',
  audit: 'Audit',
  boards: 'Boards',
  watches: 'Watches',
};

const crumbs = computed((): { above: string[]; here: string } => {
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
