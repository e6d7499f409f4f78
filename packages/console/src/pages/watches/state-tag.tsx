/** The state of a watch, in the same words and colour on each page. */

import { stateWords, type Watch } from './words.ts';

export const StateTag = ({ of: { paused, state } }: { of: Watch }) => (
  <span class={`tag watch-${paused ? 'paused' : state}`}>{paused ? 'paused' : stateWords[state]}</span>
);
