/** A bar between two panes, which is dragged, or moved with the arrow keys. A double click gives the usual size. */

import { useRef } from 'preact/hooks';

interface SplitterProps {
  label: string;
  /** The direction of the bar: a horizontal one changes a height. */
  direction: 'horizontal' | 'vertical';
  /** The size of the pane before a horizontal bar, or after a vertical one, in pixels. */
  size(): number;
  min: number;
  max(): number;
  onChange(size: number | undefined): void;
}

const step = 24;
/** Above any screen; the panes stop earlier. */
const sizeMax = 4_000;

export function Splitter({ label, direction, size, min, max, onChange }: SplitterProps) {
  const bar = useRef<HTMLDivElement>(null);
  const isHorizontal = direction === 'horizontal';
  const set = (wanted: number) => onChange(Math.round(Math.max(min, Math.min(wanted, max()))));
  const drag = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.preventDefault();
    bar.current?.focus();
    const [start, before] = [isHorizontal ? event.clientY : event.clientX, size()];
    const move = ({ clientX, clientY }: PointerEvent) =>
      set(isHorizontal ? before + clientY - start : before - (clientX - start));
    const end = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
      removeEventListener('pointercancel', end);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
  };
  const keydown = (event: KeyboardEvent) => {
    const [less, more] = isHorizontal ? ['ArrowUp', 'ArrowDown'] : ['ArrowRight', 'ArrowLeft'];
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    set(size() + (event.key === more ? step : -step));
  };
  return (
    <div
      ref={bar}
      class={`splitter ${direction}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={direction}
      aria-valuemin={min}
      aria-valuemax={sizeMax}
      aria-valuenow={Math.round(size()) || min}
      onPointerDown={drag}
      onDblClick={() => onChange(undefined)}
      onKeyDown={keydown}
    />
  );
}
