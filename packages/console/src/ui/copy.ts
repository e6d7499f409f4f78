/** Copies text to the clipboard. */

export async function copyText(text: string): Promise<boolean> {
  // Browsers give pages no clipboard outside of https and this machine.
  return (
    navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    ) ?? false
  );
}
