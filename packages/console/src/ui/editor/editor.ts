/** The editor of statements, a separate bundle. */

import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeCompletion,
  completionKeymap,
  completionStatus,
  moveCompletionSelection,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, insertNewline } from '@codemirror/commands';
import {
  keywordCompletionSource,
  MariaSQL,
  MySQL,
  PostgreSQL,
  type SQLDialect,
  sql,
} from '@codemirror/lang-sql';
import { bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import {
  type Command,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { look, style, variableMarks } from './editor-theme.ts';
import { functionsOf } from './functions.ts';
import { breakOf } from './line-breaks.ts';
import type { EditorHandle, EditorOptions, Fault } from './protocol.ts';

/** Characters that turn the direction of text, and that the editor does not mark by itself. */
const turning = /[\u202a-\u202c\u2068]/g;

const dialects: Record<string, SQLDialect> = { postgres: PostgreSQL, mysql: MySQL, mariadb: MariaSQL };

/** By default the popup takes no key when it has just opened, and Tab would leave the editor. */
const completing = { interactionDelay: 0, defaultKeymap: false };

/** The grammar of the text. MongoDB's commands are JSON and get none. */
function languageOf(engine: string, options: EditorOptions): Extension {
  const dialect = dialects[engine];
  if (dialect === undefined) return autocompletion({ ...completing, override: [variableSource(options)] });
  return [
    sql({ dialect, upperCaseKeywords: true }),
    autocompletion({
      ...completing,
      override: [
        variableSource(options),
        schemaSource(options),
        functionSource(engine),
        keywordCompletionSource(dialect, true),
      ],
      // The worker answers within milliseconds, and the next key cancels a pending answer.
      activateOnTypingDelay: 5,
    }),
  ];
}

/**
 * No completions of a word, whatever letters follow. The popup asks a source that has no result again for each letter,
 * and takes no key until all sources have answered.
 */
function noneOf(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[\w$]+/);
  return word === null ? null : { from: word.from, options: [], validFor: /^[\w$]*$/ };
}

function variableSource({ variables }: EditorOptions) {
  return (context: CompletionContext): CompletionResult | null => {
    const typed = context.matchBefore(/(?<![:\w]):\w*/);
    if (typed === null) return noneOf(context);
    const options = variables().map(
      (name): Completion => ({ label: `:${name}`, type: 'variable', boost: 50 }),
    );
    return options.length === 0 ? null : { from: typed.from, options, validFor: /^:\w*$/ };
  };
}

function schemaSource({ complete }: EditorOptions) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typed = context.matchBefore(/[\w$"`]*$/);
    const afterDot = /\.$/.test(
      context.state.sliceDoc(Math.max(0, (typed?.from ?? context.pos) - 1), typed?.from ?? context.pos),
    );
    const afterColon = context.matchBefore(/:\w*/) !== null;
    if (afterColon || (!context.explicit && !afterDot && (typed === null || typed.from === typed.to)))
      return noneOf(context);
    const answer = await complete(context.state.doc.toString(), context.pos);
    if (answer === undefined || context.aborted) return null;
    if (answer.options.length === 0) return noneOf(context);
    const options = answer.options.map(
      ({ label, kind, detail, insert }, i): Completion => ({
        label,
        apply: insert,
        detail,
        type: kind === 'column' ? 'property' : 'class',
        boost: (kind === 'join' ? 60 : 40) - i / 10,
      }),
    );
    return { from: answer.from, options, ...(answer.cut ? {} : { validFor: /^[\w$]*$/ }) };
  };
}

/** Functions by name, with their arguments beside it. */
function functionSource(engine: string) {
  const options = functionsOf(engine).map(
    ({ name, parameters }): Completion => ({
      label: name,
      detail: parameters,
      apply: `${name}(`,
      type: 'function',
      boost: -10,
    }),
  );
  return (context: CompletionContext): CompletionResult | null => {
    const typed = context.matchBefore(/(?<![.:\w])[A-Za-z_]\w*$/);
    return typed === null ? noneOf(context) : { from: typed.from, options, validFor: /^\w*$/ };
  };
}

/**
 * Inserts typed text with a transaction of the editor. Otherwise Chromium puts a styled span around text that replaces
 * coloured text, and the content security policy blocks and reports the style.
 */
const typing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType, isComposing, cancelable } = event;
    if (inputType !== 'insertText' || isComposing || !cancelable || data === null || view.state.readOnly)
      return false;
    const { from, to } = view.state.selection.main;
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});

const chose = StateEffect.define<null>();

/** True if an arrow key has selected the completion that the popup shows as selected. Typing selects the first again. */
const isChosen = StateField.define<boolean>({
  create: () => false,
  update: (chosen, { docChanged, effects, state }) =>
    effects.some((effect) => effect.is(chose)) ||
    (chosen && !docChanged && completionStatus(state) === 'active'),
});

const choosing =
  (move: Command): Command =>
  (view) => {
    const moved = move(view);
    if (moved) view.dispatch({ effects: chose.of(null) });
    return moved;
  };

/** A popup that opens while a person types must not change what Enter does. */
const enter: Command = (view) =>
  (view.state.field(isChosen) && acceptCompletion(view)) || insertNewline(view);

function keysOf({ onRun, onSave }: EditorOptions): Extension {
  const done = (act: () => void) => () => {
    act();
    return true;
  };
  return keymap.of([
    { key: 'Mod-Enter', run: done(onRun), preventDefault: true },
    { key: 'Mod-s', run: done(onSave), preventDefault: true },
    // Tab accepts an open completion. Otherwise the browser handles it, so that a keyboard can leave the editor.
    { key: 'Tab', run: (view) => acceptCompletion(view) || acceptWhenAnswered(view) },
    { key: 'Enter', run: enter, shift: insertNewline },
    { key: 'ArrowDown', run: choosing(moveCompletionSelection(true)) },
    { key: 'ArrowUp', run: choosing(moveCompletionSelection(false)) },
    { key: 'PageDown', run: choosing(moveCompletionSelection(true, 'page')) },
    { key: 'PageUp', run: choosing(moveCompletionSelection(false, 'page')) },
    ...searchKeymap,
    ...completionKeymap,
    ...defaultKeymap,
    ...historyKeymap,
  ]);
}

/** The breaks of the text stay, and what is pasted gets the same. */
function breaksOf(text: string): Extension {
  const found = breakOf(text);
  if (found === undefined) return [];
  const filter = EditorView.clipboardInputFilter.of((pasted) => pasted.replaceAll(/\r\n?|\n/g, found));
  return [EditorState.lineSeparator.of(found), filter];
}

export function openEditor(options: EditorOptions): EditorHandle {
  const [language, breaks] = [new Compartment(), new Compartment()];
  let silent = false;
  const view = new EditorView({
    root: options.parent,
    parent: options.parent,
    state: EditorState.create({
      doc: options.text,
      selection: options.selection,
      extensions: [
        isChosen,
        breaks.of(breaksOf(options.text)),
        keysOf(options),
        typing,
        lateAcceptance,
        popupFocus,
        lineNumbers(),
        lintGutter(),
        highlightSpecialChars({ addSpecialChars: turning }),
        history(),
        drawSelection(),
        EditorState.allowMultipleSelections.of(true),
        rectangularSelection(),
        search({ top: true }),
        highlightSelectionMatches(),
        bracketMatching(),
        highlightActiveLine(),
        EditorView.lineWrapping,
        syntaxHighlighting(style),
        variableMarks,
        look,
        language.of(languageOf(options.engine, options)),
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !silent) options.onChange(update.state.sliceDoc());
        }),
      ],
    }),
  });
  return {
    setText(text) {
      if (view.state.sliceDoc() === text) return;
      silent = true;
      view.dispatch({ effects: breaks.reconfigure(breaksOf(text)) });
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      silent = false;
    },
    setEngine: (engine) => view.dispatch({ effects: language.reconfigure(languageOf(engine, options)) }),
    setFaults: (faults) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          faults.map((fault) => toDiagnostic(view, fault)),
        ),
      ),
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

/** Marks the word at the position that the database reports. Columns count characters, starting at 1. */
function toDiagnostic(view: EditorView, { line, column, message }: Fault): Diagnostic {
  const { doc } = view.state;
  const found = doc.line(Math.max(1, Math.min(line, doc.lines)));
  const before = [...found.text].slice(0, Math.max(0, column - 1)).join('').length;
  const from = Math.min(found.from + before, found.to);
  const length = /^([\w.]+|.)/.exec(found.text.slice(before))?.[0].length ?? 0;
  return { from, to: Math.min(from + length, found.to), severity: 'error', message };
}

const popupFocus = ViewPlugin.define((view) => {
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

const lateAcceptance = ViewPlugin.fromClass(Acceptance);

const acceptWhenAnswered: Command = (view) => {
  const isOpen = view.dom.querySelector('.cm-tooltip-autocomplete') !== null;
  if (!isOpen || completionStatus(view.state) !== 'pending') return false;
  const acceptance = view.plugin(lateAcceptance);
  if (acceptance) acceptance.isWanted = true;
  return true;
};
