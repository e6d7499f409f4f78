import { describe, expect, it } from 'vitest';
import { mergeForms, wordsOf } from '../../src/ui/merged-form.ts';

const base = { name: 'Ops', address: 'http://a/', events: ['x'], isOn: true };
const names = { name: 'Name', address: 'Address', events: 'Events', isOn: 'Enabled' };

describe('a form that two people fill', () => {
  it('takes what only the other one changed, and keeps what the person wrote', () => {
    const now = { ...base, address: 'http://b/', events: [] };
    const merged = mergeForms(base, { ...base, name: 'Mine' }, now);
    expect(merged).toEqual({
      form: { name: 'Mine', address: 'http://b/', events: [], isOn: true },
      theirs: ['address', 'events'],
      both: [],
    });
    expect(wordsOf(merged, now, { names })).toBe(
      'Somebody else changed this while you did. The form shows what only they changed as it is now: Address, Events. Look, and save again.',
    );
  });

  it('keeps the value of the person if both changed it, and says the other one', () => {
    const now = { ...base, name: '', address: 'y'.repeat(90), isOn: false };
    const mine = { ...base, name: 'Mine', address: 'z', events: ['y'], isOn: true };
    const merged = mergeForms({ ...base, isOn: true }, mine, now);
    expect(merged.form).toEqual({ ...mine, isOn: false });
    expect(merged.both).toEqual(['name', 'address']);
    expect(wordsOf(merged, now, { names })).toContain(
      `what both of you changed: Name (theirs: empty), Address (theirs: “${'y'.repeat(80)} …”). Save again to write yours over theirs.`,
    );
    const textOf = (name: string) => (name === 'name' ? 'no name' : undefined);
    expect(wordsOf(merged, now, { names, textOf })).toContain('Name (theirs: no name)');
  });

  it('sees no conflict in the same change by both, nor in one of the person alone', () => {
    const mine = { ...base, name: 'Same', isOn: false };
    expect(mergeForms(base, mine, { ...base, name: 'Same' })).toEqual({ form: mine, theirs: [], both: [] });
    expect(mergeForms(base, mine, base)).toEqual({ form: mine, theirs: [], both: [] });
  });
});
