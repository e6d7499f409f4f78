/** Reads `sentences.txt`: a heading for each language, then one text a line, whose sentences `|` separates. */

import { readFileSync } from 'node:fs';

export interface Case {
  language: string;
  text: string;
  sentences: string[];
}

export function readCases(): Case[] {
  let language = '';
  return readFileSync(new URL('sentences.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .flatMap((line): Case[] => {
      if (line.startsWith('# ')) {
        language = line.slice(2);
        return [];
      }
      const sentences = line.split(' | ');
      const gap = language === 'zh' || language === 'ja' ? '' : ' ';
      return [{ language, text: sentences.join(gap), sentences }];
    });
}
