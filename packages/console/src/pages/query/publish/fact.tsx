/** One of the facts about a draft: its name, its figures, and what is behind them. */

import type { ComponentChildren } from 'preact';

interface FactProps {
  title: string;
  words?: ComponentChildren;
  /** What must be looked at first. */
  alarm?: string | undefined;
  children?: ComponentChildren;
}

export const Fact = ({ title, words, alarm, children }: FactProps) => (
  <section class="fact" aria-label={title}>
    <p class="fact-line">
      <strong>{title}</strong>
      {alarm !== undefined && <strong class="bad-text">{alarm}</strong>}
      <span class="hint">{words}</span>
    </p>
    {children}
  </section>
);
