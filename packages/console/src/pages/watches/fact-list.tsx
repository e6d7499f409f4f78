/** Names and values in two columns. A fact without a value is left out. */

import type { ComponentChild } from 'preact';

export const FactList = ({ facts }: { facts: readonly (readonly [string, ComponentChild])[] }) => (
  <dl class="fact-list">
    {facts
      .filter(([, value]) => value !== undefined && value !== null && value !== '')
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);
