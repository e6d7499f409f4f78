/** The bar at the top: where one is, search, theme, sign out. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { key, signOut } from '../api/session.ts';
import { crumbs } from '../state/crumbs.ts';
import { linkTo } from '../state/route.ts';
import { setTheme, theme } from '../state/theme.ts';
import { Icon } from '../ui/icons.tsx';
import { modifier } from '../ui/keyboard.ts';
import { Menu } from '../ui/menu.tsx';
import { Search } from './search.tsx';

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
      <Menu
        label="Theme"
        icon={theme.value === 'dark' ? 'moon' : 'sun'}
        items={[
          { label: 'Light', run: () => setTheme('light') },
          { label: 'Dark', run: () => setTheme('dark') },
          { label: 'As the system', run: () => setTheme('system') },
        ]}
      />
      <span class="account" title="The last characters of the key of this tab">
        <Icon name="key" />…{key.value?.slice(-4)}
      </span>
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
      {above.map((label) => (
        <span key={label} class="crumb-above">
          {label} <i aria-hidden="true">/</i>
        </span>
      ))}
      <b>{here}</b>
    </nav>
  );
}

function Find() {
  const searching = useSignal(false);
  useEffect(() => {
    const keydown = (event: KeyboardEvent) => {
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
      {searching.value && <Search onClose={set(false)} />}
    </>
  );
}
