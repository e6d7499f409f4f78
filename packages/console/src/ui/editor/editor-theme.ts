/** Colours and sizes of the editor, from the custom properties of the page. */

import { HighlightStyle, syntaxTree } from '@codemirror/language';
import { RangeSetBuilder } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export const style = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.bool, tags.null], color: 'var(--kw)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--str)' },
  { tag: tags.number, color: 'var(--num)' },
  { tag: [tags.lineComment, tags.blockComment], color: 'var(--mute)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--kw)' },
]);

export const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--panel)', fontSize: 'var(--code-size)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.65' },
  '.cm-content': { padding: '10px 0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0 14px 0 6px' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--mute)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '34px', padding: '0 4px 0 0' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--soft) 55%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection)',
  },
  '.cm-variable': {
    color: 'var(--accent)',
    backgroundColor: 'var(--accent-soft)',
    borderRadius: '4px',
    padding: '0 2px',
  },
  '.cm-matchingBracket': {
    backgroundColor: 'var(--soft) !important',
    outline: '1px solid var(--line-strong)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
    borderRadius: '7px',
    boxShadow: 'var(--float)',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12px', maxHeight: '15em' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px !important', borderRadius: '4px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent) !important',
    color: 'var(--on) !important',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected] .cm-completionDetail': { color: 'var(--on)' },
  '.cm-completionDetail': { color: 'var(--mute)', fontStyle: 'normal', marginLeft: '12px' },
  '.cm-panels': { backgroundColor: 'var(--bg)', color: 'var(--ink)', borderColor: 'var(--line)' },
  '.cm-panel.cm-search': { fontFamily: 'var(--sans)', fontSize: 'var(--small)', padding: '6px 10px' },
  '.cm-panel.cm-search label': { fontSize: 'var(--small)' },
  '.cm-textfield': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
    borderRadius: '5px',
    padding: '2px 6px',
    fontSize: 'var(--small)',
  },
  '.cm-button': {
    backgroundColor: 'var(--panel)',
    backgroundImage: 'none',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
    borderRadius: '5px',
    fontSize: 'var(--small)',
  },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-soft)' },
  '.cm-searchMatch-selected, .cm-selectionMatch': { backgroundColor: 'var(--selection)' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-diagnostic': { padding: '6px 10px', fontFamily: 'var(--sans)' },
  '.cm-gutter-lint': { width: '12px' },
  '.cm-gutter-lint .cm-gutterElement': { padding: '0' },
  '.cm-lint-marker': { width: '8px', height: '8px', margin: '6px 2px', borderRadius: '50%' },
  '.cm-lint-marker-error': { content: 'normal', backgroundColor: 'var(--bad)' },
});

const mark = Decoration.mark({ class: 'cm-variable' });
const variable = /(?<![:\w]):[A-Za-z_]\w*|\{\{\s*\w+\s*\}\}|"::?[A-Za-z_]\w*"/g;

/** Highlights variables, except in quotes and comments, where they are plain text. */
export const variableMarks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = marksOf(view);
    }
    update(update: ViewUpdate): void {
      if (
        update.docChanged ||
        update.viewportChanged ||
        syntaxTree(update.startState) !== syntaxTree(update.state)
      )
        this.decorations = marksOf(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function marksOf(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const tree = syntaxTree(view.state);
  for (const { from, to } of view.visibleRanges) {
    for (const found of view.state.sliceDoc(from, to).matchAll(variable)) {
      const at = from + found.index;
      if (/String|Quoted|Comment/.test(tree.resolveInner(at, 1).name)) continue;
      builder.add(at, at + found[0].length, mark);
    }
  }
  return builder.finish();
}
