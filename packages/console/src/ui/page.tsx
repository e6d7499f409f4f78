/** The head of every view: its title, its kind and its actions. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface PageHeadProps {
  title: ComponentChildren;
  tags?: (string | undefined)[];
  /** A state that must be seen. */
  warning?: string | undefined;
  /** A tag of its own colour. */
  state?: ComponentChildren;
  children?: ComponentChildren;
}

export function PageHead({ title, tags = [], warning, state, children }: PageHeadProps) {
  return (
    <div class="head">
      <h1 title={typeof title === 'string' ? title : undefined}>{title}</h1>
      {tags
        .filter((tag) => tag !== undefined)
        .map((tag) => (
          <span class="tag" key={tag}>
            {tag}
          </span>
        ))}
      {warning !== undefined && <span class="tag warning">{warning}</span>}
      {state}
      <span class="spring" />
      {children}
    </div>
  );
}

interface TabsProps {
  label: string;
  tabs: readonly (readonly [string, string])[];
  value: string;
  onChange(value: string): void;
}

export function Tabs({ label, tabs, value, onChange }: TabsProps) {
  const list = useRef<HTMLDivElement>(null);
  // On a phone, the last tabs are out of sight.
  useEffect(() => {
    const selected = list.current?.querySelector('[aria-selected=true]');
    selected?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [value]);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex(([name]) => name === value);
    const next = (at + step + tabs.length) % tabs.length;
    onChange(tabs[next]?.[0] ?? value);
    const all = (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]');
    all[next]?.focus();
    event.preventDefault();
  };
  return (
    <div class="tabs" ref={list} role="tablist" aria-label={label} tabIndex={-1} onKeyDown={move}>
      {tabs.map(([name, text]) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === value}
          tabIndex={name === value ? 0 : -1}
          onClick={() => onChange(name)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

export const Loading = ({ what }: { what: string }) => (
  <p class="loading" role="status">
    Loading {what} …
  </p>
);
