/**
 * A statement. It is shown as coloured text until the user enters it, then in a plain field while the editor loads, then in
 * the editor.
 */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../../api/client.ts';
import { complete, loadSchema } from '../../state/schema/schema-index.ts';
import { fromField } from './line-breaks.ts';
import type { EditorHandle, EditorModule, Fault } from './protocol.ts';

export interface CodeEditorProps {
  text: string;
  engine: string;
  sourceId: string;
  label: string;
  faults: Fault[];
  readOnly?: boolean;
  variables(): string[];
  onChange(text: string): void;
  onRun(): void;
  onSave(): void;
}

let loading: Promise<EditorModule> | undefined;
function loadEditor(): Promise<EditorModule> {
  loading ??= import(/* @vite-ignore */ addressOf('console/editor.js'));
  loading.catch(() => {
    loading = undefined;
  });
  return loading as Promise<EditorModule>;
}

/** The state of a view's editor, and the function that opens it. */
function useEditor(props: CodeEditorProps) {
  const { text, engine, sourceId, label, faults } = props;
  const host = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const handle = useRef<EditorHandle | undefined>(undefined);
  /** Texts that the editor has reported and the view has not yet drawn. */
  const typed = useRef<string[]>([]);
  const hadFocus = useRef(false);
  const latest = useRef(props);
  latest.current = props;
  const [state, setState] = useState<'plain' | 'loading' | 'open' | 'failed'>('plain');
  const enter = async () => {
    if (props.readOnly || state !== 'plain') return;
    setState('loading');
    // The schema is for completion. The editor works without it.
    loadSchema(sourceId).catch(() => undefined);
    try {
      const { openEditor } = await loadEditor();
      await compositionEnd(field.current);
      if (host.current === null) return;
      const parent = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
      const {
        value: written,
        selectionStart = 0,
        selectionEnd = 0,
        selectionDirection,
      } = field.current ?? {};
      const isBackward = selectionDirection === 'backward';
      hadFocus.current = document.activeElement === field.current;
      handle.current = openEditor({
        parent,
        text: written === undefined ? latest.current.text : fromField(written, latest.current.text),
        selection: {
          anchor: isBackward ? selectionEnd : selectionStart,
          head: isBackward ? selectionStart : selectionEnd,
        },
        engine: latest.current.engine,
        label,
        onChange: (next) => {
          typed.current.push(next);
          latest.current.onChange(next);
        },
        onRun: () => latest.current.onRun(),
        onSave: () => latest.current.onSave(),
        complete: (all, at) => complete(latest.current, all, at),
        variables: () => latest.current.variables(),
      });
      handle.current.setFaults(latest.current.faults);
      setState('open');
    } catch {
      setState('failed');
    }
  };
  useEffect(() => () => handle.current?.close(), []);
  // The field and the editor are visible only now, so they can get the focus.
  useLayoutEffect(() => {
    if (state === 'loading') focusAtStart(field.current);
    if (state === 'open' && hadFocus.current) handle.current?.focus();
  }, [state]);
  useEffect(() => {
    // A text that was typed here returns as a property after the next key. It must not overwrite the newer text.
    const at = typed.current.lastIndexOf(text);
    if (at < 0) handle.current?.setText(text);
    typed.current = at < 0 ? [] : typed.current.slice(at);
  }, [text]);
  useEffect(() => handle.current?.setFaults(faults), [faults]);
  useEffect(() => handle.current?.setEngine(engine), [engine]);
  return { host, field, state, enter };
}

/** Resolves when no text is being composed, as with an input method for Japanese. */
async function compositionEnd(field: HTMLTextAreaElement | null): Promise<void> {
  if (field?.dataset.composing === undefined) return;
  await new Promise((resolve) => field.addEventListener('compositionend', resolve, { once: true }));
}

/** Chromium puts the caret at the end of a text that is set by a script. */
function focusAtStart(field: HTMLTextAreaElement | null): void {
  field?.setSelectionRange(0, 0);
  field?.focus();
}

export function CodeEditor(props: CodeEditorProps) {
  const { host, field, state, enter } = useEditor(props);
  const { text, engine, label, faults } = props;
  return (
    <div class="editor" data-state={state}>
      <div ref={host} class="editor-host" hidden={state !== 'open'} />
      {(state === 'loading' || state === 'failed') && (
        // No key is lost while the editor loads, and if it cannot be loaded, the field stays.
        <textarea
          ref={field}
          onCompositionStart={({ currentTarget }) => {
            currentTarget.dataset.composing = '';
          }}
          onCompositionEnd={({ currentTarget }) => {
            delete currentTarget.dataset.composing;
          }}
          class="editor-plain"
          aria-label={label}
          value={text}
          spellcheck={false}
          onInput={({ currentTarget }) => props.onChange(fromField(currentTarget.value, text))}
        />
      )}
      {state === 'plain' && (
        <div
          class="code"
          role="textbox"
          aria-multiline="true"
          aria-readonly={props.readOnly}
          aria-label={label}
          tabIndex={0}
          onFocus={enter}
        >
          <Lines text={text} faults={faults} engine={engine} />
        </div>
      )}
    </div>
  );
}

function Lines({ text, faults, engine }: { text: string; faults: Fault[]; engine: string }) {
  const lines: { text: string; kind: string }[][] = [[]];
  for (const { text: part, kind } of engine === 'mongodb' ? [{ text, kind: '' }] : pieces(text)) {
    for (const [i, line] of part.split('\n').entries()) {
      if (i > 0) lines.push([]);
      lines.at(-1)?.push({ text: line, kind });
    }
  }
  const bad = new Set(faults.map(({ line }) => line));
  return lines.map((line, i) => (
    <div key={i} class={bad.has(i + 1) ? 'line bad' : 'line'}>
      <span class="line-number" aria-hidden="true">
        {i + 1}
      </span>
      <span class="line-text">
        {line.map(({ text: part, kind }, at) => (
          <span key={at} class={kind === '' ? undefined : `hl-${kind}`}>
            {part}
          </span>
        ))}
      </span>
    </div>
  ));
}

export interface Piece {
  text: string;
  kind: '' | 'keyword' | 'string' | 'number' | 'comment' | 'variable';
}

const keywords = new Set(
  `select from where and or not in is null as on using join left right inner outer full cross lateral group by order having limit offset
   union all distinct insert into values update set delete returning with recursive case when then else end between like ilike exists
   asc desc nulls first last create table alter drop view index primary key references default cast true false interval count sum avg
   min max over partition filter any some array merge replace truncate call explain show describe fetch rows only except intersect
   for conflict do nothing current_date current_timestamp`.split(/\s+/),
);

const token =
  /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^'\\]|\\.|'')*(?:'|$))|(?<quoted>"[^"]*(?:"|$)|`[^`]*(?:`|$))|(?<variable>(?<![:\w]):[A-Za-z_]\w*|\{\{\s*\w+\s*\}\})|(?<number>\b\d+(?:\.\d+)?\b)|(?<word>[A-Za-z_]\w*)/g;

function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(token)) {
    const { comment, string, variable, number, word } = match.groups ?? {};
    const kind = comment
      ? 'comment'
      : string
        ? 'string'
        : variable
          ? 'variable'
          : number
            ? 'number'
            : word && keywords.has(word.toLowerCase())
              ? 'keyword'
              : '';
    if (kind === '') continue;
    if (match.index > at) found.push({ text: text.slice(at, match.index), kind: '' });
    found.push({ text: match[0], kind });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at), kind: '' });
  return found;
}
