/** The head of every view: its title, its kind and its actions. */

import type { ComponentChildren } from 'preact';

interface PageHeadProps {
  title: ComponentChildren;
  tags?: (string | undefined)[];
  /** A state that must be seen. */
  warning?: string | undefined;
  children?: ComponentChildren;
}

export function PageHead({ title, tags = [], warning, children }: PageHeadProps) {
  return (
    <div class="head">
      <h1>{title}</h1>
      {tags
        .filter((tag) => tag !== undefined)
        .map((tag) => (
          <span class="tag" key={tag}>
            {tag}
          </span>
        ))}
      {warning !== undefined && <span class="tag warning">{warning}</span>}
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
    <div class="tabs" role="tablist" aria-label={label} tabIndex={-1} onKeyDown={move}>
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

interface TableHeadProps {
  names: string[];
  /** Heads of columns that are aligned to the right. */
  numbers?: string[];
  /** Further heads. */
  children?: ComponentChildren;
}

export const TableHead = ({ names, numbers = [], children }: TableHeadProps) => (
  <thead>
    <tr>
      {names.map((name) => (
        <th key={name} scope="col">
          {name}
        </th>
      ))}
      {numbers.map((name) => (
        <th key={name} scope="col" class="right">
          {name}
        </th>
      ))}
      {children}
    </tr>
  </thead>
);

/** A container in which a wide table scrolls, by pointer and by keys. */
export const Scrolling = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
  <section class="table-scroll" aria-label={label} tabIndex={0}>
    {children}
  </section>
);

/** Says that a result belongs to something else than the fields beside it. */
export const OtherResult = ({ children }: { children: ComponentChildren }) => (
  <p class="banner other-result" role="status">
    {children}
  </p>
);
