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

interface CardTableProps extends Omit<TableHeadProps, 'children'> {
  label: string;
  heads?: ComponentChildren;
  children: ComponentChildren;
}

/** A table whose rows become cards where the page is narrow. Its cells name their columns in `data-name`. */
export const CardTable = ({ label, heads, children, ...head }: CardTableProps) => (
  <Scrolling label={label}>
    <table class="facts stacked">
      <TableHead {...head}>{heads}</TableHead>
      <tbody>{children}</tbody>
    </table>
  </Scrolling>
);

/** Says that a result belongs to something else than the fields beside it. */
export const OtherResult = ({ children }: { children: ComponentChildren }) => (
  <p class="banner other-result" role="status">
    {children}
  </p>
);
