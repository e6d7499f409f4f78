/** The faults of the form of a source, and the attempt to save it. */

import { useState } from 'preact/hooks';
import { useAction } from '../../ui/action.ts';
import { type FormFaults, faultsOfForm, faultsOfProblem, unchanged } from './form-faults.ts';
import type { SourceForm } from './settings.ts';
import { focusFirstFault } from './source-form.tsx';

interface HeldForm {
  form: SourceForm;
  set(next: SourceForm): void;
}

export function useSourceForm({ form, set }: HeldForm, options: Parameters<typeof useAction>[0] = {}) {
  const [faults, setFaults] = useState<FormFaults>({});
  const { run, ...action } = useAction(options);
  const change = (next: SourceForm) => {
    set(next);
    setFaults(unchanged(faults, form, next));
  };
  /** Saves unless the page sees faults in the form. Shows the faults that the hub finds. */
  const attempt = async (shown: HTMLFormElement, save: () => Promise<void>) => {
    const seen = faultsOfForm(form);
    setFaults(seen);
    if (Object.keys(seen).length > 0) return focusFirstFault(shown);
    const failed = await run(save);
    if (failed !== undefined) setFaults(faultsOfProblem(failed, form));
  };
  return { ...action, faults, change, attempt };
}
