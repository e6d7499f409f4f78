/** A list of values as chips: Enter or a comma adds, Backspace takes the last away, a pasted list is split. */

import { useId, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

interface ChipsProps {
  label: string;
  note?: string | undefined;
  hint?: string;
  values: string[];
  onChange(values: string[]): void;
  placeholder?: string | undefined;
}

export function Chips({ label, note, hint, values, onChange, placeholder }: ChipsProps) {
  const id = useId();
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const add = (raw: string) => {
    const added = raw.split(/[\n\t,;]+/).map((one) => one.trim());
    const kept = added.filter((one) => one !== '');
    if (kept.length > 0) onChange([...values, ...kept]);
    setText('');
  };
  const keydown = (event: KeyboardEvent) => {
    if ((event.key === 'Enter' && !event.ctrlKey && !event.metaKey && text !== '') || event.key === ',') {
      event.preventDefault();
      add(text);
    } else if (event.key === 'Backspace' && text === '') onChange(values.slice(0, -1));
  };
  const remove = (at: number) => {
    onChange(values.filter((_, i) => i !== at));
    input.current?.focus();
  };
  return (
    <div class="field">
      <label for={id}>
        {label} {note !== undefined && <span class="note">{note}</span>}
      </label>
      <div class="chips">
        {values.map((value, i) => (
          // Two equal values are two chips.
          <span class="chip" key={i}>
            {value}
            <button type="button" aria-label={`Remove ${value}`} onClick={() => remove(i)}>
              <Icon name="close" />
            </button>
          </span>
        ))}
        <input
          id={id}
          ref={input}
          value={text}
          autocomplete="off"
          spellcheck={false}
          placeholder={values.length === 0 ? placeholder : undefined}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onKeyDown={keydown}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onBlur={() => text !== '' && add(text)}
          onPaste={(event) => {
            const pasted = event.clipboardData?.getData('text/plain') ?? '';
            if (!/[\n\t,;]/.test(pasted)) return;
            event.preventDefault();
            add(text + pasted);
          }}
        />
      </div>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
