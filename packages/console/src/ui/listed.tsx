/** What a view says of something that it reads: that it is loading, why it failed, that there is none, or the thing. */

import type { ComponentChildren } from 'preact';
import type { Loaded } from './load.tsx';
import { Loading } from './page.tsx';
import { ProblemBox } from './problem.tsx';

interface ShownProps<T> {
  of: Pick<Loaded<T>, 'value' | 'problem' | 'loading'>;
  /** Such as `the boards`. */
  what: string;
  children(value: T): ComponentChildren;
}

export function Shown<T>({ of: { value, problem, loading }, what, children }: ShownProps<T>) {
  return (
    <>
      {problem !== undefined && <ProblemBox problem={problem} />}
      {loading && value === undefined && <Loading what={what} />}
      {value !== undefined && children(value)}
    </>
  );
}

interface ListedProps<T> extends ShownProps<readonly T[]> {
  /** In place of an empty list. */
  empty: ComponentChildren;
}

export const Listed = <T,>({ empty, children, ...shown }: ListedProps<T>) => (
  <Shown {...shown}>
    {(items: readonly T[]) => (items.length === 0 ? <p class="empty">{empty}</p> : children(items))}
  </Shown>
);
