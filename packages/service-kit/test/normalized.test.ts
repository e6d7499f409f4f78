import { describe, expect, it } from 'vitest';
import { normalized } from '../src/normalized.ts';

describe('normalized text', () => {
  it('is that of Unicode, with up to thirty marks in a row', () => {
    for (const text of ['Cafe\u0301 ﬁn', 'שָׁלוֹם', 'नमस्ते', `a${'\u0323\u0301'.repeat(15)}b`])
      for (const form of ['NFC', 'NFKC', 'NFKD'] as const)
        expect(normalized(text, form)).toBe(text.normalize(form));
    expect(normalized(`a${'\u0301'.repeat(40)}b`, 'NFKD')).toBe(`a${'\u0301'.repeat(30)}b`);
    const pairs = '\u{1d165}'.repeat(29);
    expect(normalized(`a\u0301${pairs}${pairs}`, 'NFC')).toBe(`\xe1${pairs}`);
  });

  it('takes linear time', () => {
    const text = '\u0344\u0323'.repeat(200_000);
    const before = process.cpuUsage();
    normalized(text, 'NFKC');
    normalized(`a${text}`, 'NFC');
    // It took minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });
});
