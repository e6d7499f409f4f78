/** Declares a variable: its type, default and choices. */

import { variableTypes } from '@datahub/contract/variable-types';
import { useState } from 'preact/hooks';
import { isJson, parseExact, toText } from '../../api/exact.ts';
import type { Variable } from '../../api/types.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import { isNumberText } from '../../state/rows/scan.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field, Tick } from '../../ui/field.tsx';

const isText = (type: string) => ['', 'string', 'date', 'timestamp', 'uuid'].includes(type);

/** Converts typed text to a value of the type; `undefined` for an empty text. */
function typedValue(text: string, type: string, list: boolean): Variable['value'] {
  if (text === '') return undefined;
  if (text === 'null') return null;
  if (list) return parseExact(text.trim().startsWith('[') ? text : `[${text}]`);
  if (isText(type)) return type === '' && isNumberText(text) && isJson(text) ? parseExact(text) : text;
  return parseExact(text);
}

const shownFallback = (declared: Variable | undefined): string =>
  declared?.value === undefined ? '' : toText(declared.value);
const shownChoices = (declared: Variable | undefined): string =>
  (declared?.enum ?? []).map(toText).join('\n');

interface Edited {
  type: string;
  list: boolean;
  fallback: string;
  choices: string;
}

/**
 * What the fields say; members that are undefined are left out. What nobody edited stays what it was, because the text
 * "12" is shown as the number is.
 */
function valuesOf(
  declared: Variable | undefined,
  { type, list, fallback, choices }: Edited,
): Pick<Variable, 'type' | 'value' | 'enum'> {
  const wanted = type === '' ? undefined : list ? `${type}[]` : type;
  const isSameType = wanted === declared?.type;
  const isSame = isSameType && fallback === shownFallback(declared);
  const known = new Map(isSameType ? declared?.enum?.map((one) => [toText(one), one]) : []);
  const lines = choices.split('\n').filter((line) => line.trim() !== '' || known.has(line));
  const chosen = lines.map((line) => known.get(line) ?? typedValue(line.trim(), type, false) ?? null);
  const allowed = isSameType && choices === shownChoices(declared) ? declared?.enum : chosen;
  return {
    type: wanted,
    value: isSame ? declared?.value : typedValue(fallback.trim(), type, list),
    enum: allowed?.length ? allowed : undefined,
  };
}

export function VariableDialog({
  editor,
  name,
  onClose,
}: {
  editor: QueryEditor;
  name: string;
  onClose(): void;
}) {
  const declared = editor.draft.value?.context.find(({ key }) => key === name);
  const [type, setType] = useState(declared?.type?.replace(/\[\]$/, '') ?? '');
  const [list, setList] = useState(declared?.type?.endsWith('[]') ?? false);
  const [required, setRequired] = useState(declared?.required ?? false);
  const [fallback, setFallback] = useState(shownFallback(declared));
  const [choices, setChoices] = useState(shownChoices(declared));
  const [description, setDescription] = useState(declared?.description ?? '');
  const [secret, setSecret] = useState(declared?.secret ?? false);
  const submit = async () => {
    const { value, ...others } = valuesOf(declared, { type, list, fallback, choices });
    editor.declare({
      key: name,
      ...others,
      value: secret ? undefined : value,
      // False was declared elsewhere: without a value it is null.
      required: required || (declared?.required === false ? false : undefined),
      description: description === '' ? undefined : description,
      secret: secret || undefined,
    });
  };
  const types = [['', 'Any'], ...variableTypes.map((one) => [one, one])] as [string, string][];
  return (
    <FormDialog title={`Variable ${name}`} action="Apply" onClose={onClose} onSubmit={submit}>
      <Choice label="Type" value={type} options={types} onChange={setType} />
      {type !== '' && <Tick label="A list of these" checked={list} onChange={setList} />}
      <Tick label="Required" checked={required} onChange={setRequired} />
      <Tick
        label="Secret: its value stays out of addresses, links and logs"
        checked={secret}
        onChange={setSecret}
      />
      {!secret && (
        <Field
          label="Default"
          value={fallback}
          onInput={setFallback}
          hint={
            list
              ? 'JSON, such as [1, 2]. Empty: no default.'
              : 'The value if a call sends none. Empty: no default. null: NULL.'
          }
        />
      )}
      <Field
        label="Choices"
        value={choices}
        onInput={setChoices}
        rows={3}
        hint="One per line. Only these values are accepted."
      />
      <Field label="Description" value={description} onInput={setDescription} />
    </FormDialog>
  );
}
