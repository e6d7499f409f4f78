/** Changes what a card says or sends. */

import { useState } from 'preact/hooks';
import type { ListedQuery } from '../../api/types.ts';
import { ownOf } from '../../state/variables.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { variablesOf } from '../hub/pinned.ts';
import { type BoardCard, fieldText, fieldValue, toCardValues, toStored } from './board.ts';

interface CardDialogProps {
  card: BoardCard;
  query: ListedQuery | undefined;
  onChange(card: BoardCard): void;
  onClose(): void;
}

export function CardDialog({ card, query, onChange, onClose }: CardDialogProps) {
  const [text, setText] = useState(card.text ?? '');
  const [label, setLabel] = useState(card.label ?? '');
  const [values, setValues] = useState(() => toCardValues(card.values));
  const isText = card.text !== undefined;
  const variables = (query && variablesOf(query))?.filter(({ secret }) => secret !== true) ?? [];
  const submit = async () => {
    if (isText) return onChange({ ...card, text });
    const { label: _, values: __, ...rest } = card;
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.length > 0));
    onChange({
      ...rest,
      ...(label.trim() === '' ? {} : { label: label.trim() }),
      ...(Object.keys(given).length === 0 ? {} : { values: toStored(given, card.values) }),
    });
  };
  return (
    <FormDialog
      title={isText ? 'Text card' : `Card of “${query?.meta.label ?? card.path ?? ''}”`}
      action="Apply"
      disabled={isText && text.trim() === ''}
      onClose={onClose}
      onSubmit={submit}
    >
      {isText ? (
        <Field
          label="Text"
          value={text}
          onInput={setText}
          rows={8}
          hint="A line that begins with # and a space is a title."
          autofocus
        />
      ) : (
        <>
          <Field
            label="Name"
            value={label}
            onInput={setLabel}
            placeholder={query?.meta.label}
            hint="Instead of that of the query."
            autofocus
          />
          {variables.map(({ key }) => {
            const value = ownOf(values, key);
            return (
              <Field
                key={key}
                label={key}
                value={fieldText(value)}
                onInput={(typed) => setValues({ ...values, [key]: fieldValue(typed, value) })}
                placeholder="the value of the board"
              />
            );
          })}
        </>
      )}
    </FormDialog>
  );
}
