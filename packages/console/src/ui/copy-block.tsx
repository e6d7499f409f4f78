/** Text to take away, with a button that copies it. */

import { useRef, useState } from 'preact/hooks';
import { copyText } from './copy.ts';

export function CopyBlock({ text, label }: { text: string; label: string }) {
  const pre = useRef<HTMLPreElement>(null);
  const [said, setSaid] = useState('');
  const copy = async () => {
    const copied = await copyText(text);
    if (!copied && pre.current) getSelection()?.selectAllChildren(pre.current);
    setSaid(copied ? 'Copied' : 'Selected: press Ctrl+C');
    setTimeout(() => setSaid(''), 2_500);
  };
  return (
    <div class="copy-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <pre ref={pre} tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <div class="copy-line">
        <button type="button" onClick={copy}>
          Copy
        </button>
        <span role="status" class="hint">
          {said}
        </span>
      </div>
    </div>
  );
}
