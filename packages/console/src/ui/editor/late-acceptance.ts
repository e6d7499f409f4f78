/**
 * Tab while the open popup waits for an answer: the popup takes no key then, and Tab would leave the editor. It accepts
 * what the answer selects instead, unless the person goes on typing.
 */

import { acceptCompletion, completionStatus } from '@codemirror/autocomplete';
import { type Command, ViewPlugin, type ViewUpdate } from '@codemirror/view';

class Acceptance {
  isWanted = false;

  update({ view, docChanged, selectionSet, state }: ViewUpdate): void {
    if (!this.isWanted) return;
    const status = docChanged || selectionSet ? null : completionStatus(state);
    this.isWanted = status === 'pending';
    // After the update.
    if (status === 'active') queueMicrotask(() => acceptCompletion(view));
  }
}

export const lateAcceptance = ViewPlugin.fromClass(Acceptance);

export const acceptWhenAnswered: Command = (view) => {
  const isOpen = view.dom.querySelector('.cm-tooltip-autocomplete') !== null;
  if (!isOpen || completionStatus(view.state) !== 'pending') return false;
  const acceptance = view.plugin(lateAcceptance);
  if (acceptance) acceptance.isWanted = true;
  return true;
};
