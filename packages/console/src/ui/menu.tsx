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

/** The state of the list. A click outside of it, or a new window size, closes it. */
function useMenu() {
  const [open, setOpen] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // Before the next frame, because a key that is pressed until then would reach the button.
  useLayoutEffect(() => {
    if (!open) return;
    place(list.current as HTMLElement, button.current as HTMLElement);
    list.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const close = (event: Event) => {
      if (!list.current?.contains(event.target as Node) && !button.current?.contains(event.target as Node))
        setOpen(false);
    };
    addEventListener('pointerdown', close);
    addEventListener('resize', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('resize', close);
    };
  }, [open]);
  const leave = () => {
    setOpen(false);
    button.current?.focus();
  };
  const keydown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const all = [...(list.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
    else if (event.key === 'ArrowUp') all[(at + all.length - 1) % all.length]?.focus();
    else if (event.key === 'Escape') leave();
    else if (event.key === 'Tab') return setOpen(false);
    else return;
    event.preventDefault();
  };
  return { open, setOpen, list, button, leave, keydown };
}

export function Menu({ label, items: all, icon = 'more', text, tabIndex }: MenuProps) {
  const items = all.filter(({ needs }) => needs === undefined || may(needs));
  const { open, setOpen, list, button, leave, keydown } = useMenu();
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
      {open && (
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
