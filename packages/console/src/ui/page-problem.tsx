/** A page that cannot be shown, and where to go instead. */

import type { Problem } from '../api/types.ts';
import { linkTo } from '../state/route.ts';
import { hub } from '../state/workspace.ts';
import { modifier } from './keyboard.ts';
import { ProblemBox } from './problem.tsx';

export const LeadsOn = () => (
  <p class="loading">
    {hub.value !== undefined && (
      <>
        <a href={linkTo('hub', hub.value.hubId)}>Show {hub.value.label}</a>,{' '}
      </>
    )}
    <a href={linkTo('hubs')}>show all hubs</a>, or search with {modifier}K.
  </p>
);

export const PageProblem = ({ problem }: { problem: Problem }) => (
  <>
    <h1 class="sr-only">{problem.title}</h1>
    <ProblemBox problem={problem} />
    {problem.status === 404 && <LeadsOn />}
  </>
);
