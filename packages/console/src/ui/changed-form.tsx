/** The form of a document that others can change while a person fills it. */

import { useState } from 'preact/hooks';
import { ChangedMeanwhile, changeDocument } from '../api/change-document.ts';
import { call, Failure } from '../api/client.ts';
import type { Problem } from '../api/types.ts';
import { type FieldWords, isSame, mergeForms, wordsOf } from './merged-form.ts';
import { ProblemBox } from './problem.tsx';

interface FormOf<T, F> extends FieldWords<F> {
  /** Where the document is read. */
  path: string;
  /** Where its change is sent, if that is another place. */
  sentTo?: string;
  formOf(now: T): F;
}

/** The fields as the person was shown them, and as the person wants them. */
export interface Fields<F> {
  base: F;
  form: F;
}

/** Somebody else changed the fields. `fields` is what the person goes on with. */
export class FieldsChanged<F> extends Failure {
  readonly fields: Fields<F>;
  constructor(detail: string, fields: Fields<F>) {
    super({ status: 412, code: 'VERSION_MISMATCH', title: 'Nothing was saved', detail });
    this.fields = fields;
  }
}

/**
 * Sends the body of a PUT, unless somebody else changed one of the fields since they were shown. Then it sends nothing
 * and rejects with `FieldsChanged`: the fields that only they changed have their values, the others what the person wrote.
 */
export async function saveFields<T, F extends object>(
  { path, sentTo = path, formOf, names, textOf }: FormOf<T, F>,
  { base, form }: Fields<F>,
  bodyOf: (now: T) => object,
): Promise<void> {
  try {
    await changeDocument<T>(path, {
      isAsShown: (now) => {
        const { theirs, both } = mergeForms(base, form, formOf(now));
        return theirs.length + both.length === 0;
      },
      send: (headers, now) => call(sentTo, { method: 'PUT', body: bodyOf(now), headers }),
    });
  } catch (err) {
    if (!(err instanceof ChangedMeanwhile)) throw err;
    const now = formOf(err.now as T);
    const merged = mergeForms(base, form, now);
    throw new FieldsChanged(wordsOf(merged, now, { names, textOf }), { base: now, form: merged.form });
  }
}

/** The fields of a dialog. A `save` after a failed one writes over what somebody else saved; `takeTheirs` drops what the person wrote. */
export function useChangedForm<T, F extends object>({ first, ...of }: FormOf<T, F> & { first: F }) {
  const [fields, setFields] = useState<Fields<F>>({ base: first, form: first });
  const { base, form } = fields;
  const save = async (bodyOf: (now: T) => object): Promise<void> => {
    try {
      await saveFields(of, fields, bodyOf);
      setFields((now) => ({ ...now, base: form }));
    } catch (err) {
      if (err instanceof FieldsChanged) setFields(err.fields);
      throw err;
    }
  };
  return {
    form,
    isEdited: !isSame(form, base),
    set: (change: Partial<F>) => setFields((before) => ({ ...before, form: { ...before.form, ...change } })),
    save,
    takeTheirs: () => setFields({ base, form: base }),
    /** Shows what the page has read again, apart from what the person wrote. */
    follow: (now: F) => {
      const { form: merged, both } = mergeForms(base, form, now);
      const unseen = Object.fromEntries(both.map((name) => [name, base[name]]));
      setFields({ base: { ...now, ...unseen }, form: merged });
    },
  };
}

interface SaveProblemProps {
  problem: Problem;
  /** Fills the form with what somebody else saved. */
  onTheirs?: (() => void) | undefined;
}

/** Why a form was not saved, with the way out if somebody else changed what it shows. */
export const SaveProblem = ({ problem, onTheirs }: SaveProblemProps) => (
  <ProblemBox problem={problem}>
    {problem.code === 'VERSION_MISMATCH' && onTheirs !== undefined && (
      <button type="button" onClick={onTheirs}>
        Load theirs
      </button>
    )}
  </ProblemBox>
);
