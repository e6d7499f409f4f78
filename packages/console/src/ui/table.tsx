/** What tables and results of later pages have in common. */

import type { ComponentChildren } from 'preact';

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

/** The head of a column of buttons, for readers who do not see them. */
export const ActionsHead = () => (
  <th scope="col">
    <span class="sr-only">Actions</span>
  </th>
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
