/** A modal dialog: the browser keeps the focus in it, and Escape closes it. */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useAction } from './action.ts';
import { SaveProblem } from './changed-form.tsx';
import { Icon } from './icons.tsx';

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the next frame, because a key that is pressed until then would reach the page behind the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    // Once the dialog is removed, because until then nothing behind it can get the focus.
    return () => queueMicrotask(() => before?.isConnected && before.focus());
  }, []);
  return (
    <dialog ref={ref} class={wide ? 'dialog wide' : 'dialog'} aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet icon-only" aria-label="Close" onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface FormDialogProps {
  title: string;
  /** What the button does, in its own words. */
  action: string;
  danger?: boolean;
  disabled?: boolean;
  wide?: boolean;
  children?: ComponentChildren;
  onClose(): void;
  onSubmit(): Promise<unknown>;
  /** Fills the form with what somebody else saved meanwhile. */
  onTheirs?(): void;
}

/** Makes the browser ask before it leaves a page with a form in which a person wrote. Returns what to call then. */
function useLeaveWarning(): () => void {
  const isWritten = useRef(false);
  useEffect(() => {
    const warn = (event: Event) => {
      if (isWritten.current) event.preventDefault();
    };
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, []);
  return () => {
    isWritten.current = true;
  };
}

/** Closes when `onSubmit` succeeded, and shows the problem where it failed. */
export function FormDialog({
  title,
  action,
  danger,
  disabled,
  wide,
  children,
  onClose,
  onSubmit,
  onTheirs,
}: FormDialogProps) {
  const { busy, problem, run, forget } = useAction({ leaves: true });
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    await run(async () => {
      await onSubmit();
      onClose();
    });
  };
  const noteWriting = useLeaveWarning();
  const loadTheirs = () => {
    onTheirs?.();
    forget();
  };
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <form class="form" onSubmit={submit} onInput={noteWriting}>
        {children}
        {problem && <SaveProblem problem={problem} onTheirs={onTheirs && loadTheirs} />}
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy || disabled}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
