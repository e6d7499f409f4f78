/**
 * Handles the focus of the list of completions, which a keyboard can reach because it scrolls. CodeMirror closes the list
 * when it loses the focus. But it also loses the focus while an update of the editor replaces it, and within an update
 * CodeMirror throws if the list is closed.
 */

import { closeCompletion } from '@codemirror/autocomplete';
import { ViewPlugin } from '@codemirror/view';

export const popupFocus = ViewPlugin.define((view) => {
  const leave = (event: FocusEvent) => {
    const list = event.target as HTMLElement;
    if (list.closest('.cm-tooltip-autocomplete') === null) return;
    event.stopPropagation();
    // After the update.
    queueMicrotask(() => {
      if (!list.isConnected) view.focus();
      else if (event.relatedTarget !== view.contentDOM) closeCompletion(view);
    });
  };
  // The listener of CodeMirror is on an element below.
  view.dom.addEventListener('focusout', leave, true);
  return { destroy: () => view.dom.removeEventListener('focusout', leave, true) };
});
