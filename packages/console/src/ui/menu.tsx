/** A button that opens a short list of actions. */

import type { Scope } from '@datahub/contract/scopes';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { may } from '../state/permissions.ts';
import { Icon, type IconName } from './icons.tsx';

export interface MenuItem {
  label: string;
  danger?: boolean;
  /** The keyboard shortcut of the same action. */
  keys?: string;
  /** The item is left out if the key lacks this scope. */
  needs?: Scope;
  run(): unknown;
}

interface MenuProps {
  label: string;
  items: MenuItem[];
  icon?: IconName;
  text?: string;
  tabIndex?: number;
}

interface MenuListProps {
  label: string;
  items: MenuItem[];
  /** What the list belongs to. It gets the focus back, or `focus` does. */
  anchor: HTMLElement;
  focus?: HTMLElement;
  onClose(): void;
}

/** The list of a menu. A click outside of it, or a new window size, closes it. */
export function MenuList({ label, items, anchor, focus = anchor, onClose }: MenuListProps) {
  const list = useRef<HTMLDivElement>(null);
  // Before the next frame, because a key that is pressed until then would reach what is behind.
  useLayoutEffect(() => {
    place(list.current as HTMLElement, anchor);
    list.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const close = (event: Event) => {
      const target = event.target as Node;
      if (event.type === 'resize' || !(list.current?.contains(target) || anchor.contains(target))) onClose();
    };
    addEventListener('pointerdown', close);
    addEventListener('resize', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('resize', close);
    };
  }, [anchor]);
  const leave = () => {
    onClose();
    focus.focus();
  };
  const keydown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const all = [...(list.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
    else if (event.key === 'ArrowUp') all[(at + all.length - 1) % all.length]?.focus();
    else if (event.key === 'Escape') leave();
    else if (event.key === 'Tab') return onClose();
    else return;
    event.preventDefault();
  };
  return (
    <div class="menu-list" role="menu" tabIndex={-1} aria-label={label} ref={list} onKeyDown={keydown}>
      {items.map(({ label: name, danger, keys, run }) => (
        <button
          key={name}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={danger ? 'danger-text' : undefined}
          onClick={() => {
            leave();
            run();
          }}
        >
          {name}
          {keys !== undefined && <kbd>{keys}</kbd>}
        </button>
      ))}
    </div>
  );
}

export function Menu({ label, items: all, icon = 'more', text, tabIndex }: MenuProps) {
  const items = all.filter(({ needs }) => needs === undefined || may(needs));
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (items.length === 0) return null;
  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        class={text === undefined ? 'quiet icon-only' : 'quiet'}
        aria-label={text === undefined ? label : undefined}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        tabIndex={tabIndex ?? 0}
        onClick={(event) => {
          event.stopPropagation();
          setOpen(!open);
        }}
      >
        {text}
        <Icon name={icon} />
      </button>
      {open && button.current !== null && (
        <MenuList label={label} items={items} anchor={button.current} onClose={() => setOpen(false)} />
      )}
    </span>
  );
}

/** Places the list below the button, within the window. */
function place(list: HTMLElement, button: HTMLElement): void {
  const box = button.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = list;
  const below = box.bottom + 4 + offsetHeight <= innerHeight;
  list.style.top = `${below ? box.bottom + 4 : Math.max(8, box.top - 4 - offsetHeight)}px`;
  list.style.left = `${Math.max(8, Math.min(box.left, innerWidth - offsetWidth - 8))}px`;
}
