/** A form of which two people changed fields at the same time: what it becomes, and how the second one is told. */

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

export interface Merged<F> {
  form: F;
  /** The fields that only somebody else changed. The form has their values. */
  theirs: (keyof F)[];
  /** The fields that both changed to something else. The form keeps those of the person. */
  both: (keyof F)[];
}

/** The form of a person who began with `base`, and what somebody else has saved meanwhile. */
export function mergeForms<F extends object>(base: F, mine: F, now: F): Merged<F> {
  const names = Object.keys(base) as (keyof F)[];
  const theirs = names.filter((name) => !isSame(base[name], now[name]) && !isSame(mine[name], now[name]));
  const both = theirs.filter((name) => !isSame(base[name], mine[name]));
  const only = theirs.filter((name) => !both.includes(name));
  return {
    form: { ...mine, ...Object.fromEntries(only.map((name) => [name, now[name]])) },
    theirs: only,
    both,
  };
}

export interface FieldWords<F> {
  /** How the person calls the fields. */
  names: Readonly<Record<keyof F, string>>;
  /** How the person reads a value, if it is not what the person writes. */
  textOf?(name: keyof F, value: unknown): string | undefined;
}

/** What happened, as a person needs to know it to go on. */
export function wordsOf<F>(
  { theirs, both }: Pick<Merged<F>, 'theirs' | 'both'>,
  now: F,
  { names, textOf }: FieldWords<F>,
): string {
  const list = theirs.map((name) => names[name]).join(', ');
  const kept = both.map((name) => {
    const text = textOf?.(name, now[name]) ?? valueText(now[name]);
    return `${names[name]} (theirs: ${text})`;
  });
  const sentences = [
    'Somebody else changed this while you did.',
    theirs.length > 0 && `The form shows what only they changed as it is now: ${list}.`,
    both.length > 0 && `It keeps yours of what both of you changed: ${kept.join(', ')}.`,
    both.length > 0 ? 'Save again to write yours over theirs.' : 'Look, and save again.',
  ];
  return sentences.filter(Boolean).join(' ');
}

const textMax = 80;

function valueText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  if (text === '') return 'empty';
  return `“${text.length > textMax ? `${text.slice(0, textMax)} …` : text}”`;
}
